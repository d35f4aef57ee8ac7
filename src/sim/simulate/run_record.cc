#include "sim/simulate/run_record.h"

#include <algorithm>

#include "base/check.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

// More points than that nobody can tell apart in a picture.
constexpr std::size_t kMostSamples = 4096;

double in_seconds(Duration duration) {
  return static_cast<double>(duration.value) * 1e-6;
}

// The devices or cores that a job of this spec has if all of its tasks run.
double size_of_task(const Request& request, bool cores) {
  if (cores) return static_cast<double>(request.cpus.value) * 1e-3;
  return request.devices.count;
}

std::uint32_t whole_size(const JobSpec& spec, bool cores) {
  double size = size_of_task(spec.request, cores);
  if (!spec.gang.workers.empty()) size = 0;
  for (const WorkerGroup& group : spec.gang.workers)
    size += size_of_task(group.ranks.request, cores) * group.ranks.count;
  return static_cast<std::uint32_t>(size);
}

}  // namespace

RunRecord::RunRecord(const std::vector<Node>& nodes, TimePoint start, Detail detail)
    : start_(start), detail_(detail), builder_(0), used_(nodes.size()) {
  run_.cores = std::all_of(nodes.begin(), nodes.end(),
                           [](const Node& node) { return node.devices.empty(); });
  for (const Node& node : nodes) {
    const auto cores = static_cast<std::uint32_t>(node.cpus.value / 1000);
    const auto devices = static_cast<std::uint32_t>(node.devices.size());
    run_.nodes.push_back({node.name, node.devices.empty() ? "" : node.devices.front().type,
                          run_.cores ? cores : devices});
    run_.devices += run_.nodes.back().devices;
  }
  builder_ = SummaryBuilder(run_.devices);
}

void RunRecord::expect(std::uint64_t number, const WorkloadJob& job) {
  Live live{.number = number, .result = {}, .runs = job.runs};
  live.result.name = job.spec.name;
  live.result.kind = job.spec.kind;
  live.result.submit_s = in_seconds(job.submit);
  live.result.devices = whole_size(job.spec, run_.cores);
  if (job.deadline.value > 0) live.result.deadline_s = in_seconds(job.submit + job.deadline);
  const bool gang = !job.spec.gang.workers.empty();
  const std::size_t tasks = gang ? 1 : std::max<std::uint32_t>(1, job.spec.tasks.count);
  const double size = size_of_task(job.spec.request, run_.cores);
  for (std::size_t i = 0; i < tasks; ++i) {
    const double runs = in_seconds(live.runs[std::min(i, live.runs.size() - 1)]);
    live.work += runs * (gang ? live.result.devices : size);
    live.longest_s = std::max(live.longest_s, runs);
  }
  live.idle_since = live.result.submit_s;
  expected_.emplace(number, std::move(live));
}

Duration RunRecord::run_of(TaskId task) const {
  const std::vector<Duration>& runs = live_.at(task.job).runs;
  return runs[std::min<std::size_t>(task.index, runs.size() - 1)];
}

double RunRecord::seconds_at(TimePoint time) const {
  return in_seconds(time - start_);
}

void RunRecord::move_to(double at_s) {
  load_ += static_cast<double>(live_.size()) * (at_s - now_s_);
  now_s_ = at_s;
}

void RunRecord::published(const Round& round) {
  if (!round.events.empty()) move_to(seconds_at(round.events.front().at));
  for (const auto& [id, spec] : round.submitted) {
    const auto number = parse_digits(spec->command.argv.at(1), UINT64_MAX);
    auto found = expected_.extract(number.value());
    TUTTI_CHECK(!found.empty());
    found.mapped().load_before = load_;
    live_.emplace(id, std::move(found.mapped()));
  }
  for (const Event& event : round.events) {
    if (const auto* placed = std::get_if<AttemptPlaced>(&event.body)) on(*placed, now_s_);
    if (const auto* ended = std::get_if<AttemptEnded>(&event.body)) on(*ended, now_s_);
  }
  for (const JobRow& row : round.jobs) {
    if (!row.finished_at) continue;
    const auto job = live_.find(row.id);
    if (job == live_.end()) continue;
    finish_job(job->second, seconds_at(row.finished_at), true);
    live_.erase(job);
  }
  sample();
}

std::uint32_t RunRecord::size_of(const Allocation& allocation) const {
  return run_.cores ? static_cast<std::uint32_t>(allocation.cpus.value / 1000)
                    : static_cast<std::uint32_t>(allocation.devices.size());
}

void RunRecord::take(const Held& held, std::int64_t sign) {
  const ClusterNode& node = run_.nodes[held.node.value - 1];
  std::uint32_t& used = used_[held.node.value - 1];
  const auto stranded = [&] { return used > 0 && used < node.devices ? node.devices - used : 0; };
  sample_.devices_stranded -= stranded();
  used = static_cast<std::uint32_t>(used + sign * held.devices);
  sample_.devices_stranded += stranded();
  sample_.devices_used = static_cast<std::uint32_t>(sample_.devices_used + sign * held.devices);
}

void RunRecord::on(const AttemptPlaced& placed, double at_s) {
  Live& job = live_.at(placed.attempt.task.job);
  if (job.active++ == 0) {
    ++running_;
    job.result.queue_s += at_s - job.idle_since;
    if (!job.result.first_start_s) job.result.first_start_s = at_s;
  }
  if (placed.attempt.number > 1) ++job.result.restarts;
  const Held held{at_s, placed.allocation.node, size_of(placed.allocation)};
  held_[placed.attempt] = held;
  take(held, 1);
}

void RunRecord::on(const AttemptEnded& ended, double at_s) {
  const auto found = held_.find(ended.attempt);
  if (found == held_.end()) return;
  const Held held = found->second;
  held_.erase(found);
  take(held, -1);
  Live& job = live_.at(ended.attempt.task.job);
  add_span(job, held, at_s);
  if (--job.active > 0) return;
  --running_;
  job.idle_since = at_s;
}

void RunRecord::add_span(Live& job, const Held& held, double to_s) {
  job.result.device_s += held.devices * (to_s - held.from_s);
  if (detail_ != Detail::kSpans) return;
  const ClusterNode& node = run_.nodes[held.node.value - 1];
  job.result.spans.push_back({held.from_s, to_s, held.devices > 0 && !run_.cores ? node.type : "",
                              std::vector<std::string>(std::max(1u, held.devices), node.name)});
}

void RunRecord::finish_job(Live& job, double at_s, bool ended) {
  JobResult& result = job.result;
  if (ended) {
    result.finish_s = at_s;
    ++ended_;
  } else if (job.active == 0) {
    result.queue_s += at_s - job.idle_since;
  }
  const double life = at_s - result.submit_s;
  const double others = life > 0 ? std::max(1.0, (load_ - job.load_before) / life) : 1;
  if (run_.devices > 0 && job.longest_s > 0)
    result.alone_s = std::max(job.longest_s, job.work * others / run_.devices);
  builder_.add(result, at_s);
  if (detail_ != Detail::kNone) results_.emplace(job.number, std::move(result));
}

void RunRecord::sample() {
  sample_.at_s = now_s_;
  sample_.running = running_;
  sample_.waiting = static_cast<std::uint32_t>(live_.size()) - running_;
  builder_.add(sample_);
  std::vector<ClusterSample>& samples = run_.samples;
  if (!samples.empty() && now_s_ - samples.back().at_s <= sample_every_s_) {
    if (now_s_ == samples.back().at_s) samples.back() = sample_;
    return;
  }
  samples.push_back(sample_);
  if (samples.size() < kMostSamples) return;
  // Twice as far apart from here on.
  for (std::size_t i = 0; i < samples.size() / 2; ++i) samples[i] = samples[i * 2];
  samples.resize(samples.size() / 2);
  sample_every_s_ = std::max(sample_every_s_ * 2, now_s_ / static_cast<double>(kMostSamples) * 2);
}

RunResult RunRecord::finish(double horizon_s) {
  move_to(horizon_s);
  std::map<std::uint64_t, Live*> left;
  for (auto& [id, job] : live_) left[job.number] = &job;
  for (const auto& [attempt, held] : held_) add_span(live_.at(attempt.task.job), held, horizon_s);
  for (const auto& [number, job] : left) finish_job(*job, horizon_s, false);
  run_.horizon_s = horizon_s;
  run_.jobs.reserve(results_.size());
  for (auto& [number, result] : results_) run_.jobs.push_back(std::move(result));
  summary_ = builder_.summary(horizon_s);
  return std::move(run_);
}

}  // namespace tutti
