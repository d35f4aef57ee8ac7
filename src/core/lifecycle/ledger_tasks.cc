// The parts of Ledger that move the tasks of a job: from state to state, into the queue and out of
// it, through their back-off and to the end of the job.
#include <algorithm>
#include <functional>

#include "base/check.h"
#include "core/lifecycle/ledger.h"

namespace tutti {
namespace {

constexpr Duration kLongestBackoff = seconds(600);

Duration backoff_after(Duration first, std::uint32_t retries_used) {
  Duration wait = first;
  for (std::uint32_t i = 1; i < retries_used && wait < kLongestBackoff; ++i) wait = wait * 2;
  // A first wait that the user chose is kept, however long.
  return std::min(wait, std::max(first, kLongestBackoff));
}

}  // namespace

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

// How many tasks of the job could start now but for room.
std::uint64_t Ledger::ready_of(const Job& job) const {
  if (!job.after.empty() || job.finished_at) return 0;
  if (!ranks_of(job).empty()) return ready_ranks(job).size();
  const std::uint32_t ready = job.counts[TaskState::kQueued] - job.backing_off;
  if (job.tasks.max_parallel == 0) return ready;
  const std::uint32_t active = job.counts.active();
  return std::min(ready, job.tasks.max_parallel > active ? job.tasks.max_parallel - active : 0);
}

// Brings the group's view of the job up to date: whether it is ready, and with how many tasks.
void Ledger::relist(Job& job) {
  while (job.next_fresh < job.slots.size() &&
         (job.slots[job.next_fresh].state != TaskState::kQueued ||
          job.slots[job.next_fresh].attempts > 0))
    ++job.next_fresh;

  std::uint64_t ready = ready_of(job);
  if (!ranks_of(job).empty()) {
    const bool regrows = ready > 0 && job.counts.active() > 0;
    if (regrows)
      regrowing_.insert(job.id);
    else
      regrowing_.erase(job.id);
    if (regrows) ready = 0;
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
  if (group.ready.empty() || *group.ready.begin() != oldest) reorder(job.group, oldest);
  job.listed = static_cast<std::uint32_t>(ready);
}

// Another job of the group is its oldest ready one now, or none is.
void Ledger::reorder(std::uint32_t index, JobId before) {
  const Group& group = groups_[index];
  ready_groups_.erase({before, index});
  const auto turn =
      ready_by_turn_.try_emplace({group.key.priority, group.key.account}, GroupsByAge()).first;
  turn->second.erase({before, index});
  if (!group.ready.empty()) {
    ready_groups_.emplace(*group.ready.begin(), index);
    turn->second.emplace(*group.ready.begin(), index);
  }
  if (turn->second.empty()) ready_by_turn_.erase(turn);
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
  if (job.rest == TaskState::kQueued) move_untouched(job, state);
}

// Tasks that were never touched need no rows: they change their state together.
void Ledger::move_untouched(Job& job, TaskState state) {
  const auto untouched = static_cast<std::uint32_t>(job.tasks.count - job.slots.size());
  job.counts[job.rest] -= untouched;
  job.counts[state] += untouched;
  totals_[job.rest] -= untouched;
  totals_[state] += untouched;
  job.rest = state;
}

void Ledger::finish_if_done(Job& job, TimePoint at, Changes& changes) {
  if (job.finished_at || job.counts.unfinished() > 0) return;
  // The clock may have been set back.
  job.finished_at = std::max({at, job.submitted_at, job.started_at});
  elastic_.erase(job.id);
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

// Makes a task that has ended without success one that never ran.
void Ledger::requeue_ended(Job& job, std::uint32_t index, Changes& changes) {
  touch(job, index);
  TaskSlot& slot = job.slots[index];
  if (!is_final(slot.state) || slot.state == TaskState::kSucceeded) return;
  slot.retries_used = 0;
  slot.oom_retries = 0;
  set_state(job, index, TaskState::kQueued);
  job.again.push_back(index);
  changes.tasks.push_back(task_row(job, index, nullptr));
}

// Lets a task wait again whose attempt has ended. Returns when its back-off is over; zero: it has
// none.
TimePoint Ledger::take_back(Job& job, const ActiveAttempt& attempt, const Outcome& outcome,
                            bool moved, TimePoint at) {
  const TaskId task = attempt.id.task;
  TaskSlot& slot = job.slots[task.index];
  const bool moved_rank = moved && !ranks_of(job).empty();
  const bool short_of_memory = !moved_rank && deserves_more_memory(job, attempt, outcome);
  if (!moved && !short_of_memory) {
    ++slot.retries_used;
    const TimePoint until = at + backoff_after(job.backoff, slot.retries_used);
    back_off(job, task, until);
    return until;
  }
  // Ranks that run out of memory together are tried again together.
  if (short_of_memory && !job.restarting) ++slot.oom_retries;
  queue_again(job, task.index);
  return {};
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
