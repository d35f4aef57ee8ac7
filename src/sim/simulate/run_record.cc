#include "sim/simulate/run_record.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

// More points than that nobody can tell apart in a picture.
constexpr std::size_t kMostSamples = 4096;

double in_seconds(Duration duration) {
  return static_cast<double>(duration.value) * 1e-6;
}

double in_cores(MilliCpu cpus) {
  return static_cast<double>(cpus.value) * 1e-3;
}

// Seconds for so much work with so much; none is needed for none.
double seconds_of(double work, double speed) {
  return speed > 0 ? work / speed : 0;
}

// How much of a device a grant is.
double part_of(const DeviceGrant& grant, const Device& device) {
  const double share = static_cast<double>(grant.share.value) * 1e-3;
  const double memory = device.memory.value > 0 ? static_cast<double>(grant.memory.value) /
                                                      static_cast<double>(device.memory.value)
                                                : 0;
  return std::min(std::max(share, memory), 1.0);
}

// How many devices a task asks for; of several configurations those of the one that was timed.
std::uint32_t count_of(const Request& request, std::size_t timed_as) {
  const std::vector<Configuration>& listed = request.configurations;
  return timed_as < listed.size() ? listed[timed_as].count : request.devices.count;
}

// What the tasks of a job ask for, one after the other.
std::vector<const Request*> requests_of(const JobSpec& spec) {
  std::vector<const Request*> requests;
  for (const WorkerGroup& group : spec.gang.workers)
    requests.insert(requests.end(), group.ranks.count, &group.ranks.request);
  if (requests.empty()) requests.assign(std::max(1u, spec.tasks.count), &spec.request);
  return requests;
}

}  // namespace

RunRecord::RunRecord(const std::vector<Node>& nodes, TimePoint start, Detail detail)
    : start_(start), detail_(detail), builder_(0), nodes_(nodes), use_(nodes.size()) {
  run_.cores = std::all_of(nodes.begin(), nodes.end(),
                           [](const Node& node) { return node.devices.empty(); });
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ClusterNode node{.name = nodes[i].name, .types = {}};
    for (const Device& device : nodes[i].devices) {
      node.types.push_back(device.type);
      if (smallest_.memory.value == 0 || device.memory < smallest_.memory) smallest_ = device;
    }
    const double cores = in_cores(nodes[i].cpus);
    node.devices = run_.cores ? cores : static_cast<double>(node.types.size());
    cores_ += cores;
    use_[i].holders.resize(node.types.size());
    run_.devices += node.devices;
    run_.nodes.push_back(std::move(node));
  }
  builder_ = SummaryBuilder(run_.devices);
}

// So many devices as a task asks for; of shared devices the part of the smallest.
double RunRecord::devices_of(const Request& request, std::uint32_t count) const {
  const DeviceRequest& wanted = request.devices;
  return count * (wanted.whole() ? 1 : part_of({{}, wanted.memory, wanted.share}, smallest_));
}

void RunRecord::expect(std::uint64_t number, const WorkloadJob& job, std::uint32_t copy) {
  Live live{.number = number, .result = {}, .runs = job.runs, .timed_as = job.timed_as};
  live.result.name = job.spec.name + (copy > 0 ? "+" + std::to_string(copy) : "");
  live.result.kind = job.spec.kind;
  live.result.submit_s = in_seconds(job.submit);
  live.result.timed_out = job.timed_out;
  if (job.deadline.value > 0) live.result.deadline_s = in_seconds(job.submit + job.deadline);
  const bool gang = !job.spec.gang.workers.empty();
  live.chooses = !gang && !job.spec.request.configurations.empty();
  const Duration limit = job.spec.time_limit;
  const std::vector<const Request*> requests = requests_of(job.spec);
  double devices = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::uint32_t count = count_of(*requests[i], job.timed_as);
    if (i == 0 || requests[i] != requests[i - 1]) devices = devices_of(*requests[i], count);
    const double cores = in_cores(requests[i]->cpus);
    const Duration runs = live.runs[std::min(i, live.runs.size() - 1)];
    const double runs_s = in_seconds(limit.value > 0 ? std::min(runs, limit) : runs);
    live.work += runs_s * devices;
    live.core_work += runs_s * cores;
    live.longest_s = std::max(live.longest_s, runs_s);
    if (gang || i == 0) live.result.devices += run_.cores ? cores : count;
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

RunRecord::Held RunRecord::held_of(const Allocation& allocation, double from_s) const {
  Held held{.from_s = from_s, .node = allocation.node, .devices = {}};
  if (run_.cores) {
    held.cores = allocation.cpus.value;
    held.size = in_cores(allocation.cpus);
  }
  const Node& node = nodes_[allocation.node.value - 1];
  for (const DeviceGrant& grant : allocation.devices) {
    held.devices.push_back(grant.id.value);
    held.size += part_of(grant, node.devices[grant.id.value]);
  }
  return held;
}

double RunRecord::used_on(const Use& use) const {
  if (run_.cores) return static_cast<double>(use.cores) * 1e-3;
  return static_cast<double>(use.holders.size()) -
         static_cast<double>(std::count(use.holders.begin(), use.holders.end(), 0u));
}

void RunRecord::take(const Held& held, std::int64_t sign) {
  const double all = run_.nodes[held.node.value - 1].devices;
  Use& use = use_[held.node.value - 1];
  const auto stranded = [&](double used) { return used > 0 && used < all ? all - used : 0; };
  const double before = used_on(use);
  use.cores += sign * held.cores;
  for (const std::uint32_t device : held.devices)
    use.holders[device] = static_cast<std::uint32_t>(use.holders[device] + sign);
  const double after = used_on(use);
  sample_.devices_used += after - before;
  sample_.devices_stranded += stranded(after) - stranded(before);
}

void RunRecord::on(const AttemptPlaced& placed, double at_s) {
  Live& job = live_.at(placed.attempt.task.job);
  if (job.active++ == 0) {
    ++running_;
    job.result.queue_s += at_s - job.idle_since;
    if (!job.result.first_start_s) {
      job.result.first_start_s = at_s;
      if (job.chooses) job.result.devices = static_cast<double>(placed.allocation.devices.size());
    }
  }
  if (placed.attempt.number > 1) ++job.result.restarts;
  const auto held = held_.insert_or_assign(placed.attempt, held_of(placed.allocation, at_s)).first;
  take(held->second, 1);
}

void RunRecord::on(const AttemptEnded& ended, double at_s) {
  const auto found = held_.find(ended.attempt);
  if (found == held_.end()) return;
  const Held held = found->second;
  held_.erase(found);
  take(held, -1);
  Live& job = live_.at(ended.attempt.task.job);
  add_span(job, held, at_s);
  if (ended.outcome.ending == Ending::kTimeout) job.result.timed_out = true;
  if (--job.active > 0) return;
  --running_;
  job.idle_since = at_s;
}

void RunRecord::add_span(Live& job, const Held& held, double to_s) {
  job.result.device_s += held.size * (to_s - held.from_s);
  if (detail_ != Detail::kSpans) return;
  const ClusterNode& node = run_.nodes[held.node.value - 1];
  const std::size_t entries =
      run_.cores ? static_cast<std::size_t>(std::ceil(held.size)) : held.devices.size();
  job.result.spans.push_back(
      {.from_s = held.from_s,
       .to_s = to_s,
       .type = held.devices.empty() ? "" : node.types[held.devices.front()],
       .nodes = std::vector<std::string>(std::max<std::size_t>(1, entries), node.name),
       .devices = held.devices});
}

void RunRecord::finish_job(Live& job, double at_s, bool ended) {
  JobResult& result = job.result;
  if (ended) {
    result.finish_s = at_s;
    ++ended_;
    if (result.timed_out) ++timed_out_;
  } else if (job.active == 0) {
    result.queue_s += at_s - job.idle_since;
  }
  const double life = at_s - result.submit_s;
  const double others = life > 0 ? std::max(1.0, (load_ - job.load_before) / life) : 1;
  if (job.longest_s > 0) {
    const double on_devices = run_.cores ? 0 : seconds_of(job.work * others, run_.devices);
    const double on_cores = seconds_of(job.core_work * others, cores_);
    result.alone_s = std::max({job.longest_s, on_devices, on_cores});
  }
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
