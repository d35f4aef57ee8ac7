#include "core/lifecycle/ledger.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/check.h"

namespace tutti {
namespace {

constexpr Duration kLongestBackoff = seconds(600);
constexpr std::uint8_t kMostOomRetries = 3;

Duration backoff_after(Duration first, std::uint32_t retries_used) {
  Duration wait = first;
  for (std::uint32_t i = 1; i < retries_used && wait < kLongestBackoff; ++i) wait = wait * 2;
  // A first wait that the user chose is kept, however long.
  return std::min(wait, std::max(first, kLongestBackoff));
}

}  // namespace

void Ledger::apply(const Event& event, Changes& changes) {
  std::visit([&](const auto& body) { on(body, event.at, changes); }, event.body);
}

void Ledger::on(const JobSubmitted& body, TimePoint at, Changes& changes) {
  TUTTI_CHECK(!jobs_.contains(body.facts.id));
  Job& job = insert_job(body.facts, at);
  changes.jobs.insert(job.id);
  // Of what has ended only that is still asked for which ended otherwise.
  const bool too_late =
      std::any_of(job.after.begin(), job.after.end(), [&](const Dependency& dependency) {
        const auto other = jobs_.find(dependency.job);
        return other == jobs_.end() || other->second.finished_at;
      });
  if (too_late) end_all_queued(job, TaskState::kSkipped, changes);
  relist(job);
  finish_if_done(job, at, changes);
}

void Ledger::on(const CancelRequested& body, TimePoint at, Changes& changes) {
  Job& job = job_at(body.job);
  changes.jobs.insert(job.id);
  if (body.tasks.empty()) {
    job.restarting = false;
    end_all_queued(job, TaskState::kCancelled, changes);
  } else {
    for (const std::uint32_t index : body.tasks)
      end_queued(job, index, TaskState::kCancelled, changes);
    if (!ranks_of(job).empty()) settle_gang(job, changes);
  }
  relist(job);
  finish_if_done(job, at, changes);
}

void Ledger::on(const RetryRequested& body, TimePoint /*at*/, Changes& changes) {
  Job& job = job_at(body.job);
  changes.jobs.insert(job.id);
  // What ended meanwhile was waited for; so was everything, if the job has begun before.
  const bool begun = std::any_of(job.slots.begin(), job.slots.end(),
                                 [](const TaskSlot& slot) { return slot.attempts > 0; });
  std::erase_if(job.after, [&](const Dependency& dependency) {
    const auto other = jobs_.find(dependency.job);
    return begun || other == jobs_.end() || other->second.finished_at;
  });
  job.finished_at = TimePoint();
  job.exit_status = 0;
  if (!ranks_of(job).empty()) {
    restart_gang(job, changes);
    for (TaskSlot& slot : job.slots) slot.retries_used = slot.oom_retries = 0;
  }
  const auto requeue = [&](std::uint32_t index) {
    touch(job, index);
    if (!is_final(job.slots[index].state) || job.slots[index].state == TaskState::kSucceeded)
      return;
    job.slots[index].retries_used = 0;
    job.slots[index].oom_retries = 0;
    set_state(job, index, TaskState::kQueued);
    job.again.push_back(index);
    changes.tasks.push_back(task_row(job, index, nullptr));
  };
  if (body.tasks.empty() || !ranks_of(job).empty()) {
    for (std::uint32_t index = 0; index < job.slots.size(); ++index) requeue(index);
    // Untouched tasks need no rows: they become queued again together.
    const TaskState ended = job.rest;
    job.rest = TaskState::kQueued;
    if (is_final(ended)) {
      const auto untouched = static_cast<std::uint32_t>(job.tasks.count - job.slots.size());
      job.counts[ended] -= untouched;
      job.counts[TaskState::kQueued] += untouched;
      totals_[ended] -= untouched;
      totals_[TaskState::kQueued] += untouched;
      job.next_fresh = static_cast<std::uint32_t>(job.slots.size());
    }
  } else {
    for (const std::uint32_t index : body.tasks) requeue(index);
  }
  std::sort(job.again.begin(), job.again.end(), std::greater<>());
  relist(job);
}

void Ledger::on(const AttemptPlaced& body, TimePoint at, Changes& changes) {
  Job& job = job_at(body.attempt.task.job);
  const std::uint32_t index = body.attempt.task.index;
  TUTTI_CHECK(job.state_of(index) == TaskState::kQueued);
  if (!job.again.empty() && job.again.back() == index)
    job.again.pop_back();
  else if (std::erase(job.again, index) == 0)
    job.next_fresh = std::max(job.next_fresh, index + 1);
  touch(job, index);
  job.slots[index].attempts = body.attempt.number;
  set_state(job, index, TaskState::kPlaced);

  const ActiveAttempt attempt{.id = body.attempt,
                              .lane = body.lane,
                              .allocation = body.allocation,
                              .staged = body.staged,
                              .placed_at = at};
  hold(attempt);
  former_places_.erase(body.attempt.task);
  active_[body.attempt.task] = attempt;
  changes.jobs.insert(job.id);
  changes.tasks.push_back(task_row(job, index, &attempt));
  queue_behind_backlog(active_[body.attempt.task], changes);
  relist(job);
}

void Ledger::on(const AttemptStarted& body, TimePoint /*at*/, Changes& changes) {
  Job& job = job_at(body.attempt.task.job);
  ActiveAttempt& attempt = active_.at(body.attempt.task);
  TUTTI_CHECK(attempt.id == body.attempt);
  attempt.started_at = body.started_at;
  attempt.pid = body.pid;
  attempt.pid_birth = body.pid_birth;
  if (attempt.staged) unstage(lanes_.at(attempt.lane), attempt);
  if (!job.started_at) job.started_at = body.started_at;
  set_state(job, body.attempt.task.index, TaskState::kRunning);
  changes.jobs.insert(job.id);
  changes.tasks.push_back(task_row(job, body.attempt.task.index, &attempt));
}

void Ledger::on(const StopOrdered& body, TimePoint /*at*/, Changes& changes) {
  ActiveAttempt& attempt = active_.at(body.attempt.task);
  attempt.stop_cause = body.cause;
  const Job& job = job_at(body.attempt.task.job);
  changes.tasks.push_back(task_row(job, body.attempt.task.index, &attempt));
}

TaskState Ledger::state_after(const Job& job, const TaskSlot& slot, const ActiveAttempt& attempt,
                              const Outcome& outcome) const {
  if (outcome.succeeded()) return TaskState::kSucceeded;
  if (outcome.ending == Ending::kCancelled || attempt.stop_cause == Ending::kCancelled)
    return TaskState::kCancelled;
  if (outcome.ending == Ending::kRecalled || outcome.ending == Ending::kPreempted)
    return TaskState::kQueued;
  if (deserves_more_memory(job, attempt, outcome)) return TaskState::kQueued;
  return slot.retries_used < job.max_retries ? TaskState::kQueued : TaskState::kFailed;
}

void Ledger::on(const AttemptEnded& body, TimePoint at, Changes& changes) {
  Job& job = job_at(body.attempt.task.job);
  const std::uint32_t index = body.attempt.task.index;
  const auto it = active_.find(body.attempt.task);
  TUTTI_CHECK(it != active_.end() && it->second.id == body.attempt);
  ActiveAttempt attempt = it->second;
  active_.erase(it);
  if (body.started_at) attempt.started_at = body.started_at;
  if (attempt.started_at && !job.started_at) job.started_at = attempt.started_at;
  leave_lane(attempt, body.released);
  hand_on(attempt.lane, changes);
  const GroupKey& key = groups_[job.group].key;
  held_[key.account] -= weight_of(attempt.allocation);
  if (const auto measurer = measurers_.find(key.kind);
      measurer != measurers_.end() && measurer->second == body.attempt.task)
    measurers_.erase(measurer);
  account_for(job, attempt, body, changes);

  TaskSlot& slot = job.slots[index];
  const bool gang = !ranks_of(job).empty();
  const TaskState next = gang ? rank_state_after(job, index, attempt, body.outcome)
                              : state_after(job, slot, attempt, body.outcome);
  const bool moved =
      gang ? attempt.stop_cause == Ending::kPreempted || !fails_gang(attempt, body.outcome)
           : body.outcome.ending == Ending::kRecalled || body.outcome.ending == Ending::kPreempted;
  TimePoint not_before;
  if (body.outcome.ending == Ending::kRecalled) --slot.attempts;
  if (next == TaskState::kQueued) {
    if (!(gang && moved) && deserves_more_memory(job, attempt, body.outcome)) {
      // Ranks that run out of memory together are tried again together.
      if (!job.restarting) ++slot.oom_retries;
      queue_again(job, index);
    } else if (!moved) {
      ++slot.retries_used;
      not_before = at + backoff_after(job.backoff, slot.retries_used);
      back_off(job, body.attempt.task, not_before);
    } else {
      queue_again(job, index);
    }
  }
  if (next == TaskState::kFailed && job.exit_status == 0)
    job.exit_status = static_cast<std::int16_t>(exit_status(body.outcome));
  set_state(job, index, next);

  TaskRow row = task_row(job, index, &attempt);
  row.ended_at = body.ended_at;
  row.not_before = not_before;
  row.outcome = body.outcome;
  changes.tasks.push_back(std::move(row));
  changes.jobs.insert(job.id);
  if (gang && next == TaskState::kQueued && restarts_all(job, attempt, !moved))
    job.restarting = true;
  if (gang && (next == TaskState::kQueued || next == TaskState::kFailed))
    former_places_[body.attempt.task] = std::move(attempt.allocation);
  if (gang) settle_gang(job, changes);
  relist(job);
  if (is_final(next)) job.last_end = std::max(job.last_end, body.ended_at);
  // It may have ended long before this became known.
  const TimePoint end = std::max(job.last_end, body.ended_at);
  finish_if_done(job, end ? std::min(end, at) : at, changes);
}

void Ledger::on(const NodeChanged& body, TimePoint /*at*/, Changes& /*changes*/) {
  if (body.node.id.value > nodes_.size()) {
    restore_node(body.node);
    return;
  }
  Node& node = node_at(body.node.id);
  const Node before = node;
  node = body.node;
  // What is held stays held, also when the node became smaller than that.
  node.free_cpus = node.cpus - (before.cpus - before.free_cpus);
  node.free_memory = node.memory - (before.memory - before.free_memory);
  node.jobs = before.jobs;
  node.ports = before.ports;
  carry_over_devices(before.devices, node.devices);
}

void Ledger::on(const NodeStateChanged& body, TimePoint /*at*/, Changes& /*changes*/) {
  Node& node = node_at(body.node);
  node.state = body.state;
  node.state_reason = body.reason;
}

void Ledger::on(const AttemptMeasured& body, TimePoint /*at*/, Changes& changes) {
  const auto it = active_.find(body.attempt.task);
  TUTTI_CHECK(it != active_.end() && it->second.id == body.attempt);
  ActiveAttempt& attempt = it->second;
  const Job& job = job_at(body.attempt.task.job);
  MilliCpu& held = held_[groups_[job.group].key.account];
  held -= weight_of(attempt.allocation);
  for (DeviceGrant& grant : attempt.allocation.devices) {
    if (grant.id != body.device || body.memory <= grant.memory) continue;
    node_at(attempt.allocation.node).devices.at(grant.id.value).reserved_memory +=
        body.memory - grant.memory;
    grant.memory = body.memory;
  }
  held += weight_of(attempt.allocation);
  changes.tasks.push_back(task_row(job, body.attempt.task.index, &attempt));
}

void Ledger::on(const ProfileChanged& body, TimePoint /*at*/, Changes& changes) {
  if (body.profile)
    profiles_[body.kind] = *body.profile;
  else
    profiles_.erase(body.kind);
  changes.kinds.insert(body.kind);
}

void Ledger::on(const SpeedsChanged& body, TimePoint /*at*/, Changes& /*changes*/) {
  for (const SpeedChange& change : body.changes) {
    if (change.speed)
      speeds_.set(change.cell, *change.speed);
    else
      speeds_.erase(change.cell);
  }
  forget_estimates();
}

// ---- tasks of a job
// ------------------------------------------------------------------------------

void Ledger::touch(Job& job, std::uint32_t index) {
  TUTTI_CHECK(index < job.tasks.count);
  if (index >= job.slots.size()) job.slots.resize(index + 1, TaskSlot{.state = job.rest});
}

void Ledger::set_state(Job& job, std::uint32_t index, TaskState state) {
  TaskState& current = job.slots[index].state;
  --job.counts[current];
  --totals_[current];
  current = state;
  ++job.counts[state];
  ++totals_[state];
}

// Brings the group's view of the job up to date: whether it is ready, and with how many tasks.
void Ledger::relist(Job& job) {
  while (job.next_fresh < job.slots.size() &&
         (job.slots[job.next_fresh].state != TaskState::kQueued ||
          job.slots[job.next_fresh].attempts > 0))
    ++job.next_fresh;

  std::uint64_t ready = 0;
  if (!ranks_of(job).empty()) {
    if (job.after.empty() && !job.finished_at) ready = ready_ranks(job).size();
    const bool regrows = ready > 0 && job.counts.active() > 0;
    if (regrows)
      regrowing_.insert(job.id);
    else
      regrowing_.erase(job.id);
    if (regrows) ready = 0;
  } else if (job.after.empty() && !job.finished_at) {
    ready = job.counts[TaskState::kQueued] - job.backing_off;
    if (job.tasks.max_parallel > 0) {
      const std::uint32_t active = job.counts.active();
      const std::uint32_t room =
          job.tasks.max_parallel > active ? job.tasks.max_parallel - active : 0;
      ready = std::min<std::uint64_t>(ready, room);
    }
  }
  Group& group = groups_[job.group];
  const JobId oldest = group.ready.empty() ? JobId() : *group.ready.begin();
  group.ready_tasks += ready;
  group.ready_tasks -= job.listed;
  if (wants_devices(group.key)) {
    ready_for_devices_ += ready;
    ready_for_devices_ -= job.listed;
  }
  if (ready > 0 && job.listed == 0) group.ready.insert(job.id);
  if (ready == 0 && job.listed > 0) group.ready.erase(job.id);
  if (group.ready.empty() || *group.ready.begin() != oldest) {
    ready_groups_.erase({oldest, job.group});
    if (!group.ready.empty()) ready_groups_.emplace(*group.ready.begin(), job.group);
  }
  job.listed = static_cast<std::uint32_t>(ready);
}

void Ledger::end_queued(Job& job, std::uint32_t index, TaskState state, Changes& changes) {
  if (job.state_of(index) != TaskState::kQueued) return;
  touch(job, index);
  end_back_off(job, {job.id, index});
  std::erase(job.again, index);
  set_state(job, index, state);
  changes.tasks.push_back(task_row(job, index, nullptr));
}

void Ledger::end_all_queued(Job& job, TaskState state, Changes& changes) {
  job.again.clear();
  for (std::uint32_t index = 0; index < job.slots.size(); ++index)
    end_queued(job, index, state, changes);
  end_untouched(job, state);
}

void Ledger::end_untouched(Job& job, TaskState state) {
  if (job.rest != TaskState::kQueued) return;
  const auto untouched = static_cast<std::uint32_t>(job.tasks.count - job.slots.size());
  job.rest = state;
  job.counts[TaskState::kQueued] -= untouched;
  job.counts[state] += untouched;
  totals_[TaskState::kQueued] -= untouched;
  totals_[state] += untouched;
}

void Ledger::finish_if_done(Job& job, TimePoint at, Changes& changes) {
  if (job.finished_at || job.counts.unfinished() > 0) return;
  // The clock may have been set back.
  job.finished_at = std::max({at, job.submitted_at, job.started_at});
  former_places_.erase(former_places_.lower_bound({job.id, 0}),
                       former_places_.lower_bound({JobId(job.id.value + 1), 0}));
  const TaskState state = state_of(job);
  if (state == TaskState::kSucceeded) job.exit_status = 0;
  if (job.exit_status == 0 && state != TaskState::kSucceeded) {
    const Outcome cancelled{.ending = Ending::kCancelled};
    const Outcome skipped{.ending = Ending::kLost};
    const Outcome& outcome = job.counts[TaskState::kCancelled] > 0 ? cancelled : skipped;
    job.exit_status = static_cast<std::int16_t>(exit_status(outcome));
  }
  changes.jobs.insert(job.id);
  resolve_waiters(job.id, state, at, changes);
}

void Ledger::resolve_waiters(JobId finished, TaskState state, TimePoint at, Changes& changes) {
  const auto it = waiters_.find(finished);
  if (it == waiters_.end()) return;
  const std::vector<JobId> waiters = std::move(it->second);
  waiters_.erase(it);
  for (const JobId id : waiters) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end() || found->second.finished_at) continue;
    Job& job = found->second;
    bool all_met = true;
    std::erase_if(job.after, [&](const Dependency& dependency) {
      if (dependency.job != finished) return false;
      all_met = all_met && is_met(dependency.when, state);
      return true;
    });
    changes.jobs.insert(job.id);
    if (!all_met) end_all_queued(job, TaskState::kSkipped, changes);
    relist(job);
    finish_if_done(job, at, changes);
  }
}

// ---- lanes, use and profiles
// ---------------------------------------------------------------------

void Ledger::hold(const ActiveAttempt& attempt) {
  const Job& job = job_at(attempt.id.task.job);
  const GroupKey& key = groups_[job.group].key;
  Lane& lane = lanes_[attempt.lane];
  if (lane.active == 0) {
    lane = Lane{.id = attempt.lane,
                .node = attempt.allocation.node,
                .request = request_of(job, attempt.id.task.index),
                .shared = shares_lanes(key)};
    next_lane_ = std::max(next_lane_, attempt.lane.value + 1);
    if (lane.shared) shared_lanes_[{lane.node, lane.request}] = lane.id;
  }
  ++lane.active;
  if (attempt.staged) {
    ++lane.staged;
    lane.backlog.push_back(attempt.id.task);
  } else {
    ++lane.width;
    reserve(node_at(attempt.allocation.node), attempt.allocation);
  }
  held_[key.account] += weight_of(attempt.allocation);
  if (attempt.allocation.measuring) measurers_[key.kind] = attempt.id.task;
}

void Ledger::leave_lane(const ActiveAttempt& attempt, bool released) {
  Lane& lane = lanes_.at(attempt.lane);
  Node& node = node_at(lane.node);
  --lane.active;
  if (attempt.staged) {
    --lane.staged;
    std::erase(lane.backlog, attempt.id.task);
  }
  // A lane without attempts holds nothing, whatever its executor said while it died.
  const std::uint32_t freed = lane.active == 0 ? lane.width : (released && lane.width > 0 ? 1 : 0);
  for (std::uint32_t i = 0; i < freed; ++i) release(node, attempt.allocation);
  lane.width -= freed;
  if (lane.active > 0) return;
  if (const auto it = shared_lanes_.find({lane.node, lane.request});
      it != shared_lanes_.end() && it->second == lane.id)
    shared_lanes_.erase(it);
  lanes_.erase(lane.id);
}

void Ledger::unstage(Lane& lane, ActiveAttempt& attempt) {
  attempt.staged = false;
  --lane.staged;
  std::erase(lane.backlog, attempt.id.task);
}

// What an executor does: an allocation goes to the first of the backlog, also the one that a new
// attempt brings along; the new one then waits behind the others. As many attempts hold an
// allocation as the lane has, so that the rows of its attempts are enough to know its width again.
void Ledger::queue_behind_backlog(ActiveAttempt& attempt, Changes& changes) {
  Lane& lane = lanes_.at(attempt.lane);
  if (attempt.staged || lane.backlog.empty()) return;
  attempt.staged = true;
  ++lane.staged;
  lane.backlog.push_back(attempt.id.task);
  changes.tasks.push_back(task_row(job_at(attempt.id.task.job), attempt.id.task.index, &attempt));
  hand_on(attempt.lane, changes);
}

// Allocations that nobody holds go to the backlog, without waiting for word of the start.
void Ledger::hand_on(LaneId id, Changes& changes) {
  const auto it = lanes_.find(id);
  if (it == lanes_.end()) return;
  Lane& lane = it->second;
  while (lane.active - lane.staged < lane.width && !lane.backlog.empty()) {
    ActiveAttempt& next = active_.at(lane.backlog.front());
    unstage(lane, next);
    changes.tasks.push_back(task_row(job_at(next.id.task.job), next.id.task.index, &next));
  }
}

void Ledger::account_for(Job& job, const ActiveAttempt& attempt, const AttemptEnded& body,
                         Changes& changes) {
  if (!body.started_at) return;
  const Duration ran = std::max(body.ended_at - body.started_at, Duration(0));
  const GroupKey& key = groups_[job.group].key;
  const MilliCpu weight =
      attempt.allocation.devices.empty() ? attempt.allocation.cpus : weight_of(attempt.allocation);
  const double cpu_seconds =
      static_cast<double>(ran.value) * 1e-6 * static_cast<double>(weight.value) * 1e-3;
  job.served += cpu_seconds;
  usage_.charge(key.account, cpu_seconds, body.ended_at);
  changes.accounts.insert(key.account);
  learn_devices(job, attempt, body.outcome, ran);
  if (body.outcome.ending == Ending::kExited)
    profiles_[key.kind].add(ran, body.outcome.peak_memory);
  changes.kinds.insert(key.kind);
}

// Whether it ran out of device memory because others had what it was granted: that says nothing of
// its need. Nodes elsewhere are measured too seldom to tell.
bool Ledger::was_robbed(const ActiveAttempt& attempt) const {
  const std::vector<Device>& devices = nodes_[attempt.allocation.node.value - 1].devices;
  const std::vector<DeviceGrant>& grants = attempt.allocation.devices;
  return attempt.stop_cause == Ending::kExited && attempt.allocation.node == kThisMachine &&
         std::any_of(grants.begin(), grants.end(), [&](const DeviceGrant& grant) {
           return is_taken_by_others(devices.at(grant.id.value), grant.memory);
         });
}

// A run that ended well tells how much its kind needs; one that ran out of memory, that it needs
// more than it had.
void Ledger::learn_devices(const Job& job, const ActiveAttempt& attempt, const Outcome& outcome,
                           Duration ran) {
  if (attempt.allocation.devices.empty()) return;
  const std::string& kind = groups_[job.group].key.kind;
  const DeviceGrant& grant = attempt.allocation.devices.front();
  const Device& device = node_at(attempt.allocation.node).devices.at(grant.id.value);
  const auto count = static_cast<std::uint32_t>(attempt.allocation.devices.size());
  if (outcome.succeeded()) profiles_[kind].add_time(device.type, count, ran);
  if (outcome.succeeded() && outcome.device_measured)
    profiles_[kind].add_device(device.type, outcome.device_memory, outcome.device_share,
                               outcome.preallocates);
  if (outcome.ending != Ending::kDeviceOutOfMemory || was_robbed(attempt)) return;
  const MiB beyond(std::max(grant.memory.value * 3 / 2, outcome.device_memory.value * 5 / 4));
  const bool whole = grant.memory >= device.memory;
  profiles_[kind].raise_device(device.type,
                               whole ? device.memory + MiB(1) : std::min(beyond, device.memory));
}

// Whether it ran out of device memory, and another device or more of this one could be enough.
// Without others on it the same could.
bool Ledger::deserves_more_memory(const Job& job, const ActiveAttempt& attempt,
                                  const Outcome& outcome) const {
  if (outcome.ending != Ending::kDeviceOutOfMemory || job.lease ||
      attempt.allocation.devices.empty())
    return false;
  if (!job.restarting && oom_retries_of(job, attempt.id.task.index) >= kMostOomRetries)
    return false;
  if (was_robbed(attempt)) return true;
  const DeviceGrant& grant = attempt.allocation.devices.front();
  const std::vector<Request> variants = variants_of(request_of(job, attempt.id.task.index));
  const auto wanted = [&](const std::string& type) {
    return std::any_of(variants.begin(), variants.end(),
                       [&](const Request& one) { return is_of_type(type, one.devices.type); });
  };
  for (const Node& node : nodes_) {
    for (const Device& device : node.devices) {
      if (device.healthy && device.memory > grant.memory && wanted(device.type)) return true;
    }
  }
  return false;
}

// ---- time
// ----------------------------------------------------------------------------------------

void Ledger::back_off(Job& job, TaskId task, TimePoint until) {
  backoffs_.emplace(until, task);
  backoff_of_[task] = until;
  ++job.backing_off;
}

void Ledger::end_back_off(Job& job, TaskId task) {
  const auto it = backoff_of_.find(task);
  if (it == backoff_of_.end()) return;
  backoffs_.erase({it->second, task});
  backoff_of_.erase(it);
  --job.backing_off;
}

// A task keeps its place by index: failing made it no younger.
void Ledger::queue_again(Job& job, std::uint32_t index) {
  job.again.insert(std::lower_bound(job.again.begin(), job.again.end(), index, std::greater<>()),
                   index);
}

bool Ledger::advance(TimePoint now) {
  bool any = false;
  while (!backoffs_.empty() && backoffs_.begin()->first <= now) {
    const TaskId task = backoffs_.begin()->second;
    Job& job = job_at(task.job);
    end_back_off(job, task);
    queue_again(job, task.index);
    relist(job);
    any = true;
  }
  return any;
}

TimePoint Ledger::next_due() const {
  return backoffs_.empty() ? TimePoint() : backoffs_.begin()->first;
}

}  // namespace tutti
