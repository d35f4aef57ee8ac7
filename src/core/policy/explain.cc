#include "core/policy/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>

#include "base/check.h"
#include "core/plan/snapshot.h"
#include "core/policy/explain_gang.h"
#include "core/policy/explain_ready.h"
#include "core/policy/forecast.h"

namespace tutti {
namespace {

std::optional<std::size_t> position_of(const Snapshot& snapshot, std::uint32_t group) {
  for (std::size_t i = 0; i < snapshot.groups.size(); ++i) {
    if (snapshot.groups[i].group == group) return i;
  }
  return std::nullopt;
}

// Ready tasks of the same group that are taken before this one.
std::uint64_t older_in_group(const Ledger& ledger, const Job& job, std::uint32_t task) {
  std::uint64_t older = 0;
  for (const JobId id : ledger.group(job.group).ready) {
    if (id >= job.id) break;
    older += ledger.find_job(id)->listed;
  }
  for (const std::uint32_t index : job.again) older += index < task ? 1 : 0;
  for (std::uint32_t index = job.next_fresh; index < std::min<std::size_t>(task, job.slots.size());
       ++index)
    older += job.slots[index].state == TaskState::kQueued && job.slots[index].attempts == 0 ? 1 : 0;
  const auto untouched =
      static_cast<std::uint32_t>(std::max<std::size_t>(job.slots.size(), job.next_fresh));
  return older + (task > untouched ? task - untouched : 0);
}

// Of jobs that wait for each other in a row, so many are looked at to say when the last starts.
constexpr int kLongestRow = 8;

Explanation explain_in_row(const Ledger& ledger, JobId id, std::uint32_t task, TimePoint now,
                           int row);

// When a job is expected to have ended; zero: cannot be said.
Forecast expected_end(const Ledger& ledger, const Job& job, const Snapshot& snapshot, int row) {
  Forecast end;
  std::uint32_t running = 0;
  for (const RunningView& view : snapshot.running) {
    if (view.task.job != job.id) continue;
    if (!view.likely_end || !view.latest_end) return {};
    end.p50 = std::max(end.p50, view.likely_end);
    end.p90 = std::max(end.p90, view.latest_end);
    ++running;
  }
  if (job.counts.unfinished() == running) return end;
  // How many tasks are spread over time is not foreseen.
  if (job.tasks.count > 1 || row == 0) return {};
  const Explanation why = explain_in_row(ledger, job.id, 0, snapshot.now, row - 1);
  Snapshot with = snapshot;
  const GroupView& view = with.groups[add_as_ready(ledger, job, with)];
  if (!why.expected_start_p50 || !why.expected_start_p90 || view.bound().value == 0) return {};
  return {why.expected_start_p50 + (view.p50.value > 0 ? view.p50 : view.bound()),
          why.expected_start_p90 + view.bound(),
          {}};
}

// Whether what the job waits for would make the other ready too.
bool is_freed_with(const Job& other, const Job& job) {
  return std::all_of(other.after.begin(), other.after.end(), [&](const Dependency& one) {
    return std::find(job.after.begin(), job.after.end(), one) != job.after.end();
  });
}

// Takes out what a job has ready. Returns how many tasks that is.
std::uint64_t take_out(const Job& job, Snapshot& snapshot) {
  const auto position = position_of(snapshot, job.group);
  if (job.listed == 0 || !position) return 0;
  GroupView& view = snapshot.groups[*position];
  view.ready -= job.listed;
  std::erase_if(view.heads, [&](const ReadyJob& head) { return head.job == job.id; });
  if (!view.heads.empty()) return job.listed;
  const auto offset = static_cast<std::ptrdiff_t>(*position);
  snapshot.groups.erase(snapshot.groups.begin() + offset);
  snapshot.held.erase(snapshot.held.begin() + offset);
  return job.listed;
}

// What the queue will be when all that the job waits for has ended: they are gone, and it is there,
// with whoever becomes ready with it.
Waiting once_ready(const Ledger& ledger, const Job& job, std::uint32_t task, Snapshot& snapshot) {
  std::uint64_t older = older_in_group(ledger, job, task);
  for (const Dependency& dependency : job.after) {
    const Job& awaited = *ledger.find_job(dependency.job);
    const std::uint64_t gone = take_out(awaited, snapshot);
    if (awaited.group == job.group) older -= gone;
  }
  Waiting waiting{ledger, snapshot, add_as_ready(ledger, job, snapshot), older};
  std::set<JobId> others;
  for (const auto& [id, other] : ledger.jobs()) {
    if (!other.after.empty() && !other.finished_at && id != job.id &&
        ledger.ranks_of(other).empty() && is_freed_with(other, job))
      others.insert(id);
  }
  for (const JobId id : others) {
    const Job& other = *ledger.find_job(id);
    add_as_ready(ledger, other, snapshot);
    if (other.group == job.group && id < job.id) waiting.older += other.counts[TaskState::kQueued];
  }
  return waiting;
}

// What else would keep it if those that it waits for had ended as it wishes, and when that will be.
void explain_dependent(const Ledger& ledger, const Job& job, TimePoint now, int row,
                       Explanation& answer) {
  Snapshot snapshot = snapshot_of(ledger, now, Ordering::kFair, Reach::kAll);
  const Waiting waiting = once_ready(ledger, job, answer.task, snapshot);
  Explanation then{.job = job.id, .task = answer.task};
  explain_ready(waiting, job, then);
  for (Reason& reason : then.reasons)
    if (reason.code != ReasonCode::kStarting) answer.reasons.push_back(std::move(reason));
  add_awaited_ends(waiting, job, answer.remedies);
  answer.configurations = std::move(then.configurations);
  for (auto& one : answer.configurations) one.taken = false;  // who knows what is free then
  answer.basis = then.basis;
  if (!then.expected_start_p50) return;
  for (const Dependency& dependency : job.after) {
    const Forecast end = expected_end(ledger, *ledger.find_job(dependency.job), snapshot, row);
    if (!end.p50) {
      answer.basis =
          fmt::format("not known: it cannot be said when job {} ends", dependency.job.value);
      return;
    }
    then.expected_start_p50 = std::max(then.expected_start_p50, end.p50);
    then.expected_start_p90 = std::max(then.expected_start_p90, end.p90);
  }
  answer.expected_start_p50 = then.expected_start_p50;
  answer.expected_start_p90 = then.expected_start_p90;
}

Explanation explain_in_row(const Ledger& ledger, JobId id, std::uint32_t task, TimePoint now,
                           int row) {
  const Job* found = ledger.find_job(id);
  TUTTI_CHECK(found != nullptr && task < found->tasks.count);
  const Job& job = *found;
  Explanation answer{.job = id, .task = task, .state = job.state_of(task)};
  if (answer.state != TaskState::kQueued) {
    const ActiveAttempt* attempt = ledger.find_active({id, task});
    if (attempt != nullptr) add_configurations(ledger, job, &attempt->allocation, answer);
    return answer;
  }

  for (const Dependency& dependency : job.after)
    answer.reasons.push_back(
        {.code = ReasonCode::kDependency, .job = dependency.job, .when = dependency.when});
  if (!job.after.empty()) answer.basis = "not known: it depends on when those jobs end";
  if (const TimePoint until = ledger.not_before({id, task})) {
    answer.reasons.push_back({.code = ReasonCode::kBackoff, .until = until});
    answer.expected_start_p50 = answer.expected_start_p90 = until;
    answer.basis = "the end of its back-off, if there is room then";
  }
  if (!ledger.ranks_of(job).empty()) {
    if (answer.reasons.empty()) explain_rank(ledger, job, now, answer);
    return answer;
  }
  if (!job.after.empty()) {
    explain_dependent(ledger, job, now, row, answer);
    return answer;
  }
  if (job.tasks.max_parallel > 0 && job.counts.active() >= job.tasks.max_parallel) {
    answer.reasons.push_back({.code = ReasonCode::kArrayLimit, .count = job.tasks.max_parallel});
    answer.remedies.push_back("the end of one of its job's running tasks");
    if (answer.basis.empty())
      answer.basis = "not known: it depends on when tasks of its own job end";
  }
  if (!answer.reasons.empty()) return answer;
  const Snapshot snapshot = snapshot_of(ledger, now, Ordering::kFair, Reach::kAll);
  if (const auto position = position_of(snapshot, job.group)) {
    const Waiting waiting{ledger, snapshot, *position, older_in_group(ledger, job, task)};
    explain_ready(waiting, job, answer);
    if (answer.remedies.empty() && answer.reasons.front().code != ReasonCode::kStarting)
      add_combinations(waiting, id, answer.remedies);
  }
  return answer;
}

}  // namespace

Explanation explain(const Ledger& ledger, JobId id, std::uint32_t task, TimePoint now) {
  return explain_in_row(ledger, id, task, now, kLongestRow);
}

Explanation explain_submission(Ledger& ledger, const JobFacts& facts, TimePoint now) {
  Changes discarded;
  ledger.apply({now, JobSubmitted{facts}}, discarded);
  Explanation answer = explain(ledger, facts.id, 0, now);
  ledger.apply({now, CancelRequested{facts.id, {}}}, discarded);
  ledger.retire({facts.id});
  return answer;
}

}  // namespace tutti
