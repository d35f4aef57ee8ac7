// The parts of Ledger that know of gangs: which ranks start together, and what the failure of one
// means for the others.
#include <algorithm>

#include "core/lifecycle/ledger.h"

namespace tutti {
namespace {

using Rule = FailureRule::Kind;

// Whether the others have to end because of ranks of this group, which begins with rank `first`.
bool takes_all_down(const Job& job, const RankGroup& group, std::uint32_t first) {
  std::uint32_t failed = 0;
  for (std::uint32_t rank = first; rank < first + group.count; ++rank) {
    const TaskState state = job.state_of(rank);
    failed += state == TaskState::kFailed || state == TaskState::kCancelled ? 1 : 0;
  }
  if (failed == 0 || group.failure.kind == Rule::kContinue) return false;
  return group.failure.kind != Rule::kMinSucceeded || group.count - failed < group.failure.number;
}

}  // namespace

const std::vector<RankGroup>& Ledger::ranks_of(const Job& job) const {
  return groups_[job.group].key.ranks;
}

const Request& Ledger::request_of(const Job& job, std::uint32_t index) const {
  const std::vector<RankGroup>& ranks = ranks_of(job);
  if (ranks.empty()) return groups_[job.group].key.request;
  return ranks[position_of_rank(ranks, index).group].request;
}

std::vector<std::uint32_t> Ledger::ready_ranks(const Job& job) const {
  std::vector<std::uint32_t> ready;
  const bool begun = job.counts.active() > 0;
  // All together or none: also those that ran before and have to wait a little.
  if (job.restarting || (!begun && job.backing_off > 0)) return ready;
  // Those that are not there this time are not missed.
  if (begun && is_elastic(ranks_of(job))) return ready;
  std::uint32_t first = 0;
  for (const RankGroup& group : ranks_of(job)) {
    std::uint32_t room = group.at_once();
    for (std::uint32_t rank = first; rank < first + group.count && room > 0; ++rank)
      room -= is_active(job.state_of(rank)) ? 1 : 0;
    for (std::uint32_t rank = first; rank < first + group.count && room > 0; ++rank) {
      if (job.state_of(rank) != TaskState::kQueued || backoff_of_.contains({job.id, rank}))
        continue;
      ready.push_back(rank);
      --room;
    }
    first += group.count;
  }
  return ready;
}

// Whether it cannot end well any more, so that what is left of it has to end too.
bool Ledger::is_doomed(const Job& job) const {
  std::uint32_t first = 0;
  for (const RankGroup& group : ranks_of(job)) {
    if (takes_all_down(job, group, first)) return true;
    first += group.count;
  }
  return false;
}

// A rank that failed does not make the job fail where enough others have succeeded.
TaskState Ledger::state_of(const Job& job) const {
  const TaskState state = job_state(job.counts);
  if (state != TaskState::kFailed || ranks_of(job).empty()) return state;
  std::uint32_t rank = 0;
  for (const RankGroup& group : ranks_of(job)) {
    const bool tolerant = group.failure.kind == Rule::kMinSucceeded;
    std::uint32_t succeeded = 0;
    bool failed = false;
    for (std::uint32_t i = 0; i < group.count; ++i, ++rank) {
      succeeded += job.state_of(rank) == TaskState::kSucceeded ? 1 : 0;
      failed = failed || job.state_of(rank) != TaskState::kSucceeded;
    }
    if (failed && !(tolerant && succeeded >= group.failure.number)) return state;
  }
  return TaskState::kSucceeded;
}

bool fails_gang(const ActiveAttempt& attempt, const Outcome& outcome) {
  if (outcome.ending == Ending::kRecalled) return false;
  // Taken from its node: one that had begun is missed by the others.
  return outcome.ending != Ending::kPreempted || attempt.started_at;
}

TaskState Ledger::rank_state_after(const Job& job, std::uint32_t index,
                                   const ActiveAttempt& attempt, const Outcome& outcome) const {
  if (attempt.stop_cause == Ending::kCancelled || attempt.stop_cause == Ending::kRankFailed)
    return outcome.succeeded() ? TaskState::kSucceeded : TaskState::kCancelled;
  // It has to run again with the others, however it ended.
  if (attempt.stop_cause == Ending::kPreempted) return TaskState::kQueued;
  if (outcome.succeeded()) return TaskState::kSucceeded;
  if (outcome.ending == Ending::kCancelled) return TaskState::kCancelled;
  if (!fails_gang(attempt, outcome)) return TaskState::kQueued;
  const std::vector<RankGroup>& ranks = ranks_of(job);
  const FailureRule& rule = ranks[position_of_rank(ranks, index).group].failure;
  if (deserves_more_memory(job, attempt, outcome)) return TaskState::kQueued;
  const std::uint32_t used = job.slots[index].retries_used;
  const bool again = (rule.kind == Rule::kRestart && used < rule.number) ||
                     (rule.kind == Rule::kFailFast && used < job.max_retries);
  return again ? TaskState::kQueued : TaskState::kFailed;
}

// How often a task ran again with more memory of devices. Of a gang whose ranks run again together,
// whichever it was that had too little.
std::uint32_t Ledger::oom_retries_of(const Job& job, std::uint32_t index) const {
  const std::vector<RankGroup>& ranks = ranks_of(job);
  if (ranks.empty() || ranks[position_of_rank(ranks, index).group].failure.kind != Rule::kFailFast)
    return job.slots[index].oom_retries;
  std::uint32_t sum = 0;
  for (const TaskSlot& one : job.slots) sum += one.oom_retries;
  return sum;
}

// Whether all ranks have to run again because of this one's end: it failed and may be tried again,
// or it lost its place before any of them had begun.
bool Ledger::restarts_all(const Job& job, const ActiveAttempt& attempt, bool failed) const {
  const std::vector<RankGroup>& ranks = ranks_of(job);
  if (failed)
    return ranks[position_of_rank(ranks, attempt.id.task.index).group].failure.kind ==
           Rule::kFailFast;
  if (attempt.stop_cause != Ending::kExited || attempt.started_at) return false;
  for (std::uint32_t index = 0; index < job.slots.size(); ++index) {
    const ActiveAttempt* other = find_active({job.id, index});
    if (other != nullptr && other->started_at) return false;
  }
  return true;
}

// Draws the consequences of a rank's end for the others.
void Ledger::settle_gang(Job& job, Changes& changes) {
  if (is_doomed(job)) {
    job.restarting = false;
    end_all_queued(job, TaskState::kCancelled, changes);
  } else if (job.restarting && job.counts.active() == 0) {
    restart_gang(job, changes);
  } else if (!job.restarting && is_elastic(ranks_of(job)) &&
             job.counts[TaskState::kSucceeded] > 0) {
    // Its work is done. Ranks that its shape had no need of are done with it.
    end_all_queued(job, TaskState::kSucceeded, changes);
  }
}

// What the end of this rank's attempt means for the rank itself, and for the others.
void Ledger::settle_rank(Job& job, ActiveAttempt attempt, bool moved, Changes& changes) {
  const TaskId rank = attempt.id.task;
  const TaskState state = job.state_of(rank.index);
  if (state == TaskState::kQueued && restarts_all(job, attempt, !moved)) job.restarting = true;
  if (state == TaskState::kQueued || state == TaskState::kFailed)
    former_places_[rank] = std::move(attempt.allocation);
  settle_gang(job, changes);
}

// Every rank runs again, also those that had ended well: the others need them.
void Ledger::restart_gang(Job& job, Changes& changes) {
  job.restarting = false;
  std::uint16_t used = 0;
  for (const TaskSlot& slot : job.slots) used = std::max(used, slot.retries_used);
  const std::vector<RankGroup>& ranks = ranks_of(job);
  for (std::uint32_t index = 0; index < job.slots.size(); ++index) {
    TaskSlot& slot = job.slots[index];
    const Rule rule = ranks[position_of_rank(ranks, index).group].failure.kind;
    const bool apart = rule == Rule::kContinue || rule == Rule::kMinSucceeded;
    if (!is_final(slot.state) || (apart && slot.state == TaskState::kSucceeded)) continue;
    slot.retries_used = used;
    set_state(job, index, TaskState::kQueued);
    queue_again(job, index);
    changes.tasks.push_back(task_row(job, index, nullptr));
  }
  if (!is_elastic(ranks) || !is_final(job.rest)) return;
  // Another shape may need ranks that this one did not.
  move_untouched(job, TaskState::kQueued);
  job.next_fresh = static_cast<std::uint32_t>(job.slots.size());
}

std::vector<std::pair<AttemptId, Ending>> Ledger::stops_due(const Job& job) const {
  std::vector<std::pair<AttemptId, Ending>> stops;
  if (ranks_of(job).empty() || job.counts.active() == 0) return stops;
  const bool doomed = is_doomed(job);
  if (!doomed && !job.restarting) return stops;
  for (std::uint32_t index = 0; index < job.slots.size(); ++index) {
    const ActiveAttempt* attempt = find_active({job.id, index});
    if (attempt == nullptr || attempt->stop_cause != Ending::kExited) continue;
    stops.emplace_back(attempt->id, doomed ? Ending::kRankFailed : Ending::kPreempted);
  }
  return stops;
}

std::optional<std::uint32_t> Ledger::first_failed(const Job& job) const {
  std::uint32_t first = 0;
  for (const RankGroup& group : ranks_of(job)) {
    const std::uint32_t end = first + group.count;
    const bool guilty = takes_all_down(job, group, first);
    for (; first < end; ++first) {
      if (guilty && job.state_of(first) == TaskState::kFailed) return first;
    }
  }
  return std::nullopt;
}

const Allocation* Ledger::former_place(TaskId rank) const {
  const auto it = former_places_.find(rank);
  return it == former_places_.end() ? nullptr : &it->second;
}

}  // namespace tutti
