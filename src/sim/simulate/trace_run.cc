#include "sim/simulate/trace_run.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <unordered_map>

#include "base/check.h"
#include "control/controller.h"
#include "core/spec/field.h"
#include "core/spec/validate.h"
#include "sim/lean_store.h"
#include "sim/settle.h"
#include "sim/sim_executor.h"
#include "sim/simulate/run_record.h"
#include "sim/virtual_clock.h"

namespace tutti {
namespace {

constexpr std::uint64_t kStepsPerProgress = 4096;

// How many times each job is there.
class Copies {
 public:
  Copies(double scale, std::uint64_t seed) : scale_(scale), random_(seed) {}

  std::uint32_t next() {
    const double whole = std::floor(scale_);
    const double part = scale_ - whole;
    // By hand: what a distribution of the library makes of the same numbers is its own business.
    const double chance = static_cast<double>(random_() >> 11) * 0x1.0p-53;
    return static_cast<std::uint32_t>(whole) + (chance < part ? 1 : 0);
  }

 private:
  double scale_;
  std::mt19937_64 random_;
};

// One run of a workload: see run_trace().
class TraceRun {
 public:
  TraceRun(Workload& workload, const TraceRunOptions& options);
  Result<TraceOutcome> run();

 private:
  Result<void> read_ahead();
  void submit(WorkloadJob job, std::uint32_t copy);
  void name_as_here(std::vector<Dependency>& after);
  void settle();
  TimePoint next_time() const;
  Duration run_of(const StartAttempt& order) const;

  Workload& workload_;
  const TraceRunOptions& options_;
  Copies copies_;
  VirtualClock clock_;
  LeanStore store_;
  RunRecord record_;
  SimExecutor executor_;
  Controller controller_;
  TraceOutcome outcome_;
  std::optional<WorkloadJob> head_;  // the next job
  std::uint32_t head_copies_ = 0;
  std::uint64_t number_ = 0;
  std::unordered_map<JobId, JobId> ids_;  // of the workload, and here
  TimePoint due_;
};

TraceRun::TraceRun(Workload& workload, const TraceRunOptions& options)
    : workload_(workload),
      options_(options),
      copies_(options.jobs_scale, options.seed),
      store_(options.speeds),
      record_(options.nodes, VirtualClock::kStart, options.detail),
      executor_(clock_,
                [this](const StartAttempt& order) {
                  return SimRun{run_of(order), {}, false};
                }),
      controller_(store_, executor_, clock_, record_) {
  executor_.keep_little();
  controller_.set_ordering(options.ordering);
  for (const Node& node : options.nodes) executor_.set_node(node);
}

// Holds the next job that is there at least once.
Result<void> TraceRun::read_ahead() {
  do {
    Result<std::optional<WorkloadJob>> job = workload_.next();
    if (!job) return job.error();
    head_ = *std::move(job);
    head_copies_ = head_ ? copies_.next() : 0;
  } while (head_ && head_copies_ == 0);
  return {};
}

// Jobs that have ended or are not there are waited for no more.
void TraceRun::name_as_here(std::vector<Dependency>& after) {
  if (after.empty()) return;
  settle();  // so that those of this moment have their ids
  std::vector<Dependency> here;
  for (const Dependency& one : after) {
    const auto found = ids_.find(one.job);
    if (found != ids_.end() && record_.is_live(found->second))
      here.push_back({found->second, one.when});
  }
  after = std::move(here);
}

void TraceRun::submit(WorkloadJob job, std::uint32_t copy) {
  const std::uint64_t number = number_++;
  name_as_here(job.spec.after);
  spread(job.spec, options_.nodes);
  record_.expect(number, job, copy);
  job.spec.command.argv = {"sim", std::to_string(number)};
  job.spec.workdir = "/";
  if (job.spec.user.empty()) job.spec.user = "somebody";
  if (job.spec.kind.empty()) job.spec.kind = "job";
  controller_.submit({std::move(job.spec)}, false,
                     [this, number, id = job.id](const Result<Submitted>& reply) {
                       if (reply && id.value > 0) ids_[id] = reply->jobs.front();
                       if (reply) return;
                       if (outcome_.refused++ == 0) outcome_.first_refusal = reply.error().message;
                       record_.refused(number);
                     });
}

// As long as was said, but for what the table of speeds says of the configuration that it got.
Duration TraceRun::run_of(const StartAttempt& order) const {
  const TaskId task = order.attempt.task;
  const Duration runs = record_.run_of(task);
  const Group& group = controller_.ledger().group(controller_.ledger().find_job(task.job)->group);
  const auto& listed = group.key.request.configurations;
  const std::size_t timed_as = record_.timed_as(task.job);
  for (std::size_t i = 0; i < listed.size() && timed_as < listed.size(); ++i) {
    if (listed[i].count != order.devices.size()) continue;
    if (!is_of_type(order.devices.front().type, listed[i].type)) continue;
    const auto& now = group.speeds[i];
    const auto& then = group.speeds[timed_as];
    if (!now || !then || now->seconds <= 0 || then->seconds <= 0) return runs;
    return Duration(std::llround(static_cast<double>(runs.value) * now->seconds / then->seconds));
  }
  return runs;
}

TimePoint TraceRun::next_time() const {
  TimePoint next = earlier(executor_.next(), due_);
  if (head_) next = earlier(next, VirtualClock::kStart + head_->submit);
  return next;
}

void TraceRun::settle() {
  due_ = tutti::settle(controller_, executor_, store_, clock_);
}

Result<TraceOutcome> TraceRun::run() {
  if (const Result<void> started = controller_.start(); !started) return started.error();
  settle();
  if (const Result<void> read = read_ahead(); !read) return read.error();
  std::uint64_t steps = 0;
  for (TimePoint next = next_time(); next; next = next_time()) {
    clock_.move_to(next);
    while (head_ && VirtualClock::kStart + head_->submit <= clock_.now()) {
      std::uint32_t copy = 0;
      for (; copy + 1 < head_copies_; ++copy) submit(*head_, copy);
      submit(*std::move(head_), copy);
      if (const Result<void> read = read_ahead(); !read) return read.error();
    }
    settle();
    if (++steps % kStepsPerProgress == 0 && options_.progress)
      options_.progress(record_.ended(), record_.now_s());
  }
  TUTTI_CHECK(executor_.complaints().empty());
  outcome_.run = record_.finish(record_.now_s());
  outcome_.summary = record_.summary();
  outcome_.timed_out = record_.timed_out();
  return std::move(outcome_);
}

// A group of so many ranks, each with its part of what the job asks for.
WorkerGroup ranks_of(const Request& whole, std::uint32_t ranks, std::uint32_t count,
                     std::uint32_t devices) {
  WorkerGroup group = new_worker_group(whole);
  Request& each = group.ranks.request;
  group.ranks.count = count;
  each.ports = 0;
  each.devices.count = devices;
  if (devices == 0) each.devices = {};
  // What nobody stated is for each task, whatever it is a part of.
  if (whole.limit_cpus || devices == 0)
    each.cpus = MilliCpu((whole.cpus.value + ranks - 1) / ranks);
  each.memory = MiB((whole.memory.value + ranks - 1) / ranks);
  return group;
}

// Into how many parts, of at most so much each.
std::int64_t parts_of(std::int64_t whole, std::int64_t most) {
  if (whole <= most) return 1;
  return most > 0 ? (whole + most - 1) / most : kMaxRanks + 1;
}

// Of how many equal ranks each fits on such a node.
std::int64_t ranks_on(const Node& node, const Request& request) {
  const std::int64_t devices = std::count_if(
      node.devices.begin(), node.devices.end(),
      [&](const Device& device) { return is_of_type(device.type, request.devices.type); });
  const bool cores = request.limit_cpus || request.devices.count == 0;
  return std::max({parts_of(request.devices.count, devices),
                   cores ? parts_of(request.cpus.value, node.cpus.value) : 1,
                   parts_of(request.memory.value, node.memory.value)});
}

}  // namespace

void spread(JobSpec& spec, const std::vector<Node>& nodes) {
  if (!spec.gang.workers.empty() || spec.tasks.shape != TaskSet::Shape::kSingle) return;
  const Request& request = spec.request;
  if (!request.configurations.empty()) return;
  std::int64_t ranks = kMaxRanks + 1;
  for (const Node& node : nodes) ranks = std::min(ranks, ranks_on(node, request));
  if (ranks == 1 || ranks > kMaxRanks) return;
  const auto count = static_cast<std::uint32_t>(ranks);
  // The first ranks have one device more where it does not come out even.
  const std::uint32_t each = request.devices.count / count;
  const std::uint32_t more = request.devices.count % count;
  if (more > 0) {
    spec.gang.workers.push_back(ranks_of(request, count, more, each + 1));
    spec.gang.workers.back().name = "Wider";
  }
  spec.gang.workers.push_back(ranks_of(request, count, count - more, each));
}

Result<TraceOutcome> run_trace(Workload& workload, const TraceRunOptions& options) {
  if (const Result<void> begun = workload.rewind(); !begun) return begun.error();
  return TraceRun(workload, options).run();
}

}  // namespace tutti
