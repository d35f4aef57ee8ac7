#include "sim/results.h"

#include <algorithm>
#include <cmath>

namespace tutti {
namespace {

// The element floor(part × n) of sorted numbers.
double element_at(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  const auto n = static_cast<double>(sorted.size());
  return sorted[std::min(static_cast<std::size_t>(std::floor(part * n)), sorted.size() - 1)];
}

double median_of(const std::vector<double>& sorted) {
  if (sorted.empty()) return 0;
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

double part_of(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace

std::string pool_node_name(const Pool& pool, std::uint32_t number) {
  return pool.type + "-" + std::to_string(number);
}

void set_cluster(const std::vector<Pool>& pools, RunResult& run) {
  for (const Pool& pool : pools) {
    run.devices += pool.devices();
    for (std::uint32_t number = 0; number < pool.nodes; ++number)
      run.nodes.push_back({pool_node_name(pool, number),
                           std::vector<std::string>(pool.per_node, pool.type),
                           static_cast<double>(pool.per_node)});
  }
}

void note_late(std::size_t jobs, RunResult& run) {
  if (jobs == 0) return;
  run.notes.push_back("Jobs that come after the last round and are not counted: " +
                      std::to_string(jobs) + "; --rounds makes it longer.");
}

void SummaryBuilder::add(const JobResult& job, double horizon_s) {
  const double end = job.finish_s.value_or(horizon_s);
  const double time = end - job.submit_s;
  first_submit_s_ = times_.empty() ? job.submit_s : std::min(first_submit_s_, job.submit_s);
  last_end_s_ = times_.empty() ? end : std::max(last_end_s_, end);
  times_.push_back(time);
  if (job.finish_s) ++sums_.finished;
  sums_.mean_jct_s += time;
  sums_.mean_queue_s += job.queue_s;
  sums_.restarts_per_job += job.restarts;
  device_s_ += job.device_s;
  used_s_ += job.device_s - job.unused_s;
  if (job.alone_s && *job.alone_s > 0) {
    ++with_share_;
    const double ratio = time / *job.alone_s;
    // A rounding error is no injustice.
    if (ratio > 1 + 1e-9) ++unfair_;
    sums_.worst_fairness = std::max(sums_.worst_fairness.value_or(ratio), ratio);
  }
  if (!job.deadline_s) return;
  ++deadlines_;
  if (job.finish_s && !job.timed_out && *job.finish_s <= *job.deadline_s) ++met_;
}

void SummaryBuilder::add(const ClusterSample& sample) {
  if (last_ && last_->waiting > 0) {
    const double held = sample.at_s - last_->at_s;
    waiting_s_ += held;
    stranded_s_ += held * last_->devices_stranded;
  }
  last_ = sample;
  ++samples_;
  sums_.throughput_mean += sample.throughput;
}

Summary SummaryBuilder::summary(double horizon_s) const {
  Summary summary = sums_;
  const auto n = static_cast<double>(times_.size());
  std::vector<double> sorted = times_;
  std::sort(sorted.begin(), sorted.end());
  summary.jobs = times_.size();
  summary.mean_jct_s = part_of(sums_.mean_jct_s, n);
  summary.median_jct_s = median_of(sorted);
  summary.p90_jct_s = element_at(sorted, 0.9);
  summary.p99_jct_s = element_at(sorted, 0.99);
  summary.mean_queue_s = part_of(sums_.mean_queue_s, n);
  summary.restarts_per_job = part_of(sums_.restarts_per_job, n);
  summary.device_hours_per_job = part_of(device_s_ / 3600, n);
  summary.makespan_s = times_.empty() ? 0 : last_end_s_ - first_submit_s_;
  summary.device_use = part_of(used_s_, devices_ * summary.makespan_s);
  double waiting_s = waiting_s_;
  double stranded_s = stranded_s_;
  if (last_ && last_->waiting > 0 && horizon_s > last_->at_s) {
    waiting_s += horizon_s - last_->at_s;
    stranded_s += (horizon_s - last_->at_s) * last_->devices_stranded;
  }
  summary.fragmentation = part_of(stranded_s, devices_ * waiting_s);
  if (with_share_ > 0)
    summary.unfair = static_cast<double>(unfair_) / static_cast<double>(with_share_);
  if (deadlines_ > 0)
    summary.deadlines_met = static_cast<double>(met_) / static_cast<double>(deadlines_);
  summary.throughput_mean = part_of(sums_.throughput_mean, static_cast<double>(samples_));
  return summary;
}

Summary summarise(const RunResult& run) {
  SummaryBuilder builder(run.devices);
  for (const JobResult& job : run.jobs) builder.add(job, run.horizon_s);
  for (const ClusterSample& sample : run.samples) builder.add(sample);
  Summary summary = builder.summary(run.horizon_s);
  std::vector<double> decisions = run.decision_ms;
  std::sort(decisions.begin(), decisions.end());
  summary.decision_ms_median = median_of(decisions);
  summary.decision_ms_p95 = element_at(decisions, 0.95);
  return summary;
}

}  // namespace tutti
