#include "sim/sim_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tutti {
namespace {

SimRun what_its_command_says(const StartAttempt& order) {
  const Result<SimCommand> command = SimCommand::parse(order.launch.argv);
  if (command) return command->run_of(order.attempt);
  SimRun run;
  run.outcome = {.ending = Ending::kNotStarted, .exit_code = 127};
  run.outcome.message = command.error().message;
  return run;
}

std::string name_of(AttemptId attempt) {
  return fmt::format("{}.{} attempt {}", attempt.task.job.value, attempt.task.index,
                     attempt.number);
}

}  // namespace

SimExecutor::SimExecutor(VirtualClock& clock, Behaviour behaviour)
    : clock_(clock), behaviour_(behaviour ? std::move(behaviour) : what_its_command_says) {}

void SimExecutor::set_node(Node node) {
  const auto known = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&](const Node& other) { return other.name == node.name; });
  node.id = NodeId(static_cast<std::uint32_t>(known - nodes_.begin() + 1));
  for (std::size_t i = 0; i < node.devices.size(); ++i)
    node.devices[i].id = DeviceId(static_cast<std::uint32_t>(i));
  node.free_cpus = node.cpus;
  node.free_memory = node.memory;
  report(NodeChanged{node});
  if (known == nodes_.end()) {
    nodes_.push_back(std::move(node));
  } else {
    *known = std::move(node);
  }
}

Result<void> SimExecutor::attach(const Known& /*known*/, ReportSink& sink) {
  sink_ = &sink;
  // All that is worth telling follows from here.
  reports_.clear();
  if (away_) return {};
  for (const Node& node : nodes_) report(NodeChanged{node});
  report(Inventory());
  return {};
}

// What it has at the moment of delivery: orders may have arrived since attach().
void SimExecutor::deliver_inventory(std::vector<Report>& due) {
  for (const auto& [attempt, ended] : results_) due.push_back(ended);
  Inventory inventory;
  for (const Node& node : nodes_) inventory.nodes.push_back(node.id);
  for (const auto& [attempt, order] : waiting_) inventory.staged.push_back(attempt);
  for (const auto& [attempt, running] : running_)
    inventory.running.push_back({attempt, running.started_at, 1});
  inventory.same_incarnation = lost_.empty();
  due.push_back(std::move(inventory));
}

void SimExecutor::order(std::vector<Effect> effects) {
  if (!keeps_little_) last_orders_ = effects;
  if (away_) return;
  for (Effect& effect : effects) std::visit([this](auto& one) { take(std::move(one)); }, effect);
}

void SimExecutor::journalled(std::span<const AttemptId> ended) {
  for (const AttemptId& attempt : ended) {
    results_.erase(attempt);
    lost_.erase(attempt);
    if (keeps_little_) ever_started_.erase(attempt);
  }
}

// ---- orders
// --------------------------------------------------------------------------------------

void SimExecutor::take(StartAttempt order) {
  const AttemptId id = order.attempt;
  if (waiting_.contains(id) || running_.contains(id) || results_.contains(id)) return;
  if (order.held) {
    held_.insert_or_assign(id, std::move(order));
    report(AttemptReady{id});
    return;
  }
  enter_lane(std::move(order));
}

void SimExecutor::take(const ReleaseAttempt& order) {
  auto held = held_.extract(order.attempt);
  if (!held.empty()) enter_lane(std::move(held.mapped()));
}

void SimExecutor::enter_lane(StartAttempt order) {
  const AttemptId id = order.attempt;
  const LaneId lane = order.lane;
  if (order.staged && !lanes_.contains(lane)) {
    // The lane's last allocation was given back while the order was on its way.
    report_end({id, {}, clock_.now(), {.ending = Ending::kRecalled}, false});
    return;
  }
  LanePool& pool = lanes_[lane];
  if (!order.staged) ++pool.width;
  pool.backlog.push_back(id);
  waiting_.emplace(id, std::move(order));
  fill(lane);
}

void SimExecutor::take(const StopAttempt& order) {
  if (held_.erase(order.attempt) > 0) {
    report_end({order.attempt, {}, clock_.now(), {.ending = order.cause}, true});
    return;
  }
  LaneId lane;
  if (remove_from_backlog(order.attempt, lane)) {
    report_end({order.attempt, {}, clock_.now(), {.ending = order.cause}, false});
    return;
  }
  const auto it = running_.find(order.attempt);
  if (it == running_.end() || it->second.stopping) return;
  it->second.stopping = true;
  it->second.outcome = {.ending = order.cause};
  const Duration grace = it->second.ignores_stop ? it->second.order.context->grace : Duration();
  end_at(order.attempt, clock_.now() + grace);
}

void SimExecutor::take(const RecallAttempt& order) {
  LaneId lane;
  if (!remove_from_backlog(order.attempt, lane)) return;
  ++recalls_;
  report_end({order.attempt, {}, clock_.now(), {.ending = Ending::kRecalled}, false});
}

bool SimExecutor::remove_from_backlog(AttemptId attempt, LaneId& lane) {
  const auto it = waiting_.find(attempt);
  if (it == waiting_.end()) return false;
  lane = it->second.lane;
  waiting_.erase(it);
  LanePool& pool = lanes_.at(lane);
  std::erase(pool.backlog, attempt);
  if (pool.width == 0 && pool.backlog.empty()) lanes_.erase(lane);
  return true;
}

// ---- lanes
// ---------------------------------------------------------------------------------------

void SimExecutor::fill(LaneId lane) {
  LanePool& pool = lanes_.at(lane);
  while (pool.running < pool.width && !pool.backlog.empty()) {
    const auto it = waiting_.find(pool.backlog.front());
    pool.backlog.pop_front();
    ++pool.running;
    StartAttempt order = std::move(it->second);
    waiting_.erase(it);
    start(std::move(order));
  }
}

void SimExecutor::start(StartAttempt order) {
  const AttemptId id = order.attempt;
  if (!ever_started_.insert(id).second) complain(name_of(id) + " was started twice");
  ++starts_;
  const TimePoint now = clock_.now();
  SimRun run = behaviour_(order);
  measure(order.allocation, run.outcome);
  charge(order, 1);
  check_room(order.allocation.node);
  TimePoint end = now + std::max(run.runs, Duration(0));
  const Duration limit = order.context->time_limit;
  if (limit.value > 0 && run.runs > limit) {
    run.outcome = {.ending = Ending::kTimeout};
    end = now + limit + (run.ignores_stop ? order.context->grace : Duration());
  }
  const bool never_ran = run.outcome.ending == Ending::kNotStarted;
  if (never_ran) end = now;
  running_[id] = {std::move(order), now, run.outcome, run.ignores_stop, false};
  ends_.emplace(end, id);
  if (!never_ran && !keeps_little_) report(AttemptStarted{id, now, 1});
}

// What a real executor would see of its devices.
void SimExecutor::measure(const Allocation& allocation, Outcome& outcome) {
  if (allocation.devices.empty() || !outcome.device_measured) return;
  if (outcome.device_memory <= allocation.devices.front().memory) return;
  outcome.ending = Ending::kDeviceOutOfMemory;
  outcome.exit_code = 1;
}

void SimExecutor::end(AttemptId attempt, TimePoint at) {
  const auto it = running_.find(attempt);
  const Running ended = std::move(it->second);
  running_.erase(it);
  charge(ended.order, -1);
  const LaneId lane = ended.order.lane;
  LanePool& pool = lanes_.at(lane);
  --pool.running;
  const bool released = pool.backlog.empty();
  if (released) --pool.width;
  const bool ran = ended.outcome.ending != Ending::kNotStarted;
  report_end({attempt, ran ? ended.started_at : TimePoint(), at, ended.outcome, released});
  if (pool.width == 0 && pool.backlog.empty()) {
    lanes_.erase(lane);
  } else {
    fill(lane);
  }
}

void SimExecutor::finish(AttemptId attempt, TimePoint at) {
  TUTTI_CHECK(running_.contains(attempt));
  std::erase_if(ends_, [&](const auto& entry) { return entry.second == attempt; });
  end(attempt, at);
}

void SimExecutor::end_at(AttemptId attempt, TimePoint at) {
  std::erase_if(ends_, [&](const auto& entry) { return entry.second == attempt; });
  ends_.emplace(at, attempt);
}

// ---- time and reports
// ----------------------------------------------------------------------------

TimePoint SimExecutor::next() const {
  TimePoint next;
  if (!ends_.empty()) next = ends_.begin()->first;
  if (sink_ != nullptr && !away_ && !reports_.empty() && (!next || reports_.begin()->first < next))
    next = reports_.begin()->first;
  return next;
}

void SimExecutor::advance() {
  while (!ends_.empty() && ends_.begin()->first <= clock_.now()) {
    const AttemptId attempt = ends_.begin()->second;
    ends_.erase(ends_.begin());
    end(attempt, clock_.now());
  }
  if (sink_ == nullptr || away_) return;
  std::vector<Report> due;
  while (!reports_.empty() && reports_.begin()->first <= clock_.now()) {
    Report next = std::move(reports_.begin()->second);
    reports_.erase(reports_.begin());
    if (std::holds_alternative<Inventory>(next)) {
      deliver_inventory(due);
    } else {
      due.push_back(std::move(next));
    }
  }
  if (!due.empty()) sink_->report(std::move(due));
}

void SimExecutor::report(Report report) {
  if (sink_ != nullptr && !away_) reports_.emplace(clock_.now() + report_delay_, std::move(report));
}

void SimExecutor::report_end(AttemptEnded ended) {
  results_[ended.attempt] = ended;
  report(std::move(ended));
}

void SimExecutor::die() {
  for (const auto& [attempt, order] : waiting_) lost_.insert(attempt);
  for (const auto& [attempt, order] : held_) lost_.insert(attempt);
  for (const auto& [attempt, running] : running_) lost_.insert(attempt);
  for (const auto& [attempt, result] : results_) lost_.insert(attempt);
  use_.clear();
  lanes_.clear();
  waiting_.clear();
  held_.clear();
  running_.clear();
  results_.clear();
  ends_.clear();
  away_ = false;
  if (sink_ != nullptr) TUTTI_CHECK(attach({}, *sink_).has_value());
}

void SimExecutor::come_back() {
  away_ = false;
  if (sink_ != nullptr) TUTTI_CHECK(attach({}, *sink_).has_value());
}

// ---- checks
// --------------------------------------------------------------------------------------

void SimExecutor::charge(const StartAttempt& order, std::int64_t sign) {
  Use& use = use_[order.allocation.node];
  use.cpus += order.allocation.cpus * sign;
  use.memory += order.allocation.memory * sign;
  for (const DeviceGrant& grant : order.allocation.devices) {
    use.share[grant.id] += grant.share * sign;
    use.device_memory[grant.id] += grant.memory * sign;
  }
  for (const std::uint32_t port : order.allocation.ports) use.ports[port] += sign;
}

void SimExecutor::check_room(NodeId id) {
  const Node& node = nodes_.at(id.value - 1);
  const Use& use = use_[id];
  if (use.cpus > node.cpus) complain(node.name + ": more CPUs in use than it has");
  if (use.memory > node.memory) complain(node.name + ": more memory in use than it has");
  for (const auto& [port, holders] : use.ports) {
    if (holders > 1) complain(node.name + ": a port was granted twice");
  }
  for (const auto& [device, share] : use.share) {
    if (share > MilliGpu(1000)) complain(node.name + ": a GPU is used more than once");
  }
  for (const auto& [device, memory] : use.device_memory) {
    if (memory > node.devices.at(device.value).memory)
      complain(node.name + ": more memory of a GPU in use than it has");
  }
}

}  // namespace tutti
