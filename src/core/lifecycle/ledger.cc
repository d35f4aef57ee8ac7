#include "core/lifecycle/ledger.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"

namespace tutti {
namespace {

// Whether it lost its place rather than failed: it comes back without using up a retry.
bool was_moved(bool gang, const ActiveAttempt& attempt, const Outcome& outcome) {
  if (gang) return attempt.stop_cause == Ending::kPreempted || !fails_gang(attempt, outcome);
  return outcome.ending == Ending::kRecalled || outcome.ending == Ending::kPreempted;
}

// The first start that is known of: reports of several nodes come in any order.
void note_start(Job& job, TimePoint started) {
  if (started && (!job.started_at || started < job.started_at)) job.started_at = started;
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
  // It runs anew: the time in between is none of its run.
  if (job.finished_at) job.started_at = TimePoint();
  job.finished_at = TimePoint();
  if (is_elastic(ranks_of(job))) elastic_.insert(job.id);
  job.exit_status = 0;
  if (!ranks_of(job).empty()) {
    restart_gang(job, changes);
    for (TaskSlot& slot : job.slots) slot.retries_used = slot.oom_retries = 0;
  }
  if (body.tasks.empty() || !ranks_of(job).empty()) {
    for (std::uint32_t index = 0; index < job.slots.size(); ++index)
      requeue_ended(job, index, changes);
    if (is_final(job.rest)) {
      move_untouched(job, TaskState::kQueued);
      job.next_fresh = static_cast<std::uint32_t>(job.slots.size());
    }
  } else {
    for (const std::uint32_t index : body.tasks) requeue_ended(job, index, changes);
    // Those that are not tried again have still failed.
    const auto failed = std::find_if(job.slots.begin(), job.slots.end(), [](const TaskSlot& slot) {
      return slot.state == TaskState::kFailed;
    });
    if (failed != job.slots.end()) job.exit_status = failed->exit_status;
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
  note_start(job, body.started_at);
  set_state(job, body.attempt.task.index, TaskState::kRunning);
  changes.jobs.insert(job.id);
  changes.tasks.push_back(task_row(job, body.attempt.task.index, &attempt));
}

void Ledger::on(const StopOrdered& body, TimePoint /*at*/, Changes& changes) {
  ActiveAttempt& attempt = active_.at(body.attempt.task);
  attempt.stop_cause = body.cause;
  Job& job = job_at(body.attempt.task.job);
  if (body.cause == Ending::kPreempted) job.restarting = !ranks_of(job).empty();
  changes.tasks.push_back(task_row(job, body.attempt.task.index, &attempt));
}

TaskState Ledger::state_after(const Job& job, const ActiveAttempt& attempt,
                              const Outcome& outcome) const {
  const std::uint32_t index = attempt.id.task.index;
  if (!ranks_of(job).empty()) return rank_state_after(job, index, attempt, outcome);
  if (outcome.succeeded()) return TaskState::kSucceeded;
  if (outcome.ending == Ending::kCancelled || attempt.stop_cause == Ending::kCancelled)
    return TaskState::kCancelled;
  if (outcome.ending == Ending::kRecalled || outcome.ending == Ending::kPreempted)
    return TaskState::kQueued;
  if (deserves_more_memory(job, attempt, outcome)) return TaskState::kQueued;
  return job.slots[index].retries_used < job.max_retries ? TaskState::kQueued : TaskState::kFailed;
}

// Takes the attempt that has ended out of all that it held.
ActiveAttempt Ledger::let_go(Job& job, const AttemptEnded& body, Changes& changes) {
  const auto it = active_.find(body.attempt.task);
  TUTTI_CHECK(it != active_.end() && it->second.id == body.attempt);
  ActiveAttempt attempt = std::move(it->second);
  active_.erase(it);
  if (body.started_at) attempt.started_at = body.started_at;
  note_start(job, attempt.started_at);
  leave_lane(attempt, body.released);
  hand_on(attempt.lane, changes);
  const GroupKey& key = groups_[job.group].key;
  held_[key.account] -= weight_of(attempt.allocation);
  if (const auto measurer = measurers_.find(key.kind);
      measurer != measurers_.end() && measurer->second == body.attempt.task)
    measurers_.erase(measurer);
  return attempt;
}

void Ledger::on(const AttemptEnded& body, TimePoint at, Changes& changes) {
  Job& job = job_at(body.attempt.task.job);
  const std::uint32_t index = body.attempt.task.index;
  ActiveAttempt attempt = let_go(job, body, changes);
  account_for(job, attempt, body, changes);

  const bool gang = !ranks_of(job).empty();
  const TaskState next = state_after(job, attempt, body.outcome);
  const bool moved = was_moved(gang, attempt, body.outcome);
  TimePoint not_before;
  if (body.outcome.ending == Ending::kRecalled) --job.slots[index].attempts;
  if (next == TaskState::kQueued) not_before = take_back(job, attempt, body.outcome, moved, at);
  if (next == TaskState::kFailed) {
    job.slots[index].exit_status = static_cast<std::uint8_t>(exit_status(body.outcome));
    if (job.exit_status == 0) job.exit_status = job.slots[index].exit_status;
  }
  set_state(job, index, next);

  TaskRow row = task_row(job, index, &attempt);
  row.ended_at = body.ended_at;
  row.not_before = not_before;
  row.outcome = body.outcome;
  changes.tasks.push_back(std::move(row));
  changes.jobs.insert(job.id);
  if (gang) settle_rank(job, std::move(attempt), moved, changes);
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

}  // namespace tutti
