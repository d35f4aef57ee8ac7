#include "store/job_list.h"

#include <algorithm>
#include <limits>

namespace tutti {
namespace {

using Summaries = std::vector<JobSummary>;

bool passes(const JobFilter& filter, const JobSummary& job) {
  const auto& states = filter.states;
  if (!states.empty() && std::find(states.begin(), states.end(), job.row.state) == states.end())
    return false;
  if (!filter.user.empty() && job.user != filter.user) return false;
  if (!filter.name.empty() && job.name != filter.name) return false;
  return filter.before.value == 0 || job.row.id < filter.before;
}

std::int64_t upper_bound(const JobFilter& filter) {
  constexpr auto kNewest = std::numeric_limits<std::int64_t>::max();
  return filter.before.value == 0 ? kNewest : static_cast<std::int64_t>(filter.before.value);
}

// Appends the first `limit` jobs of the query that pass; the query gives newest first.
Result<void> collect(Connection& connection, Query query, const JobFilter& filter,
                     std::size_t limit, Summaries& jobs) {
  for (std::size_t taken = 0; taken < limit;) {
    const auto row = query.next();
    if (!row) return row.error();
    if (!*row) return {};
    StoredJob stored;
    if (!read_job(query, stored)) return connection.corrupt("row of " + job_words(stored.row.id));
    JobSummary job = summary_of(std::move(stored));
    if (!passes(filter, job)) continue;
    jobs.push_back(std::move(job));
    ++taken;
  }
  return {};
}

void keep_newest(Summaries& jobs, std::size_t limit) {
  std::sort(jobs.begin(), jobs.end(),
            [](const auto& a, const auto& b) { return a.row.id > b.row.id; });
  if (jobs.size() > limit) jobs.resize(limit);
}

Result<Summaries> list_by_ids(Connection& connection, const JobFilter& filter, std::size_t limit) {
  std::vector<JobId> ids = filter.ids;
  std::sort(ids.begin(), ids.end(), std::greater<>());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  Summaries jobs;
  for (const JobId id : ids) {
    if (jobs.size() == limit) break;
    auto stored = find_job(connection, id);
    if (!stored && stored.error().code == ErrorCode::kNotFound) continue;
    if (!stored) return stored.error();
    JobSummary job = summary_of(std::move(*stored));
    if (passes(filter, job)) jobs.push_back(std::move(job));
  }
  return jobs;
}

// The indexes are ordered by state first: one run for each state, then the newest of all runs.
Result<Summaries> list_by_states(Connection& connection, const JobFilter& filter,
                                 std::size_t limit) {
  std::vector<TaskState> states = filter.states;
  if (states.empty())
    for (std::size_t state = 0; state < kTaskStates; ++state)
      states.push_back(static_cast<TaskState>(state));
  std::sort(states.begin(), states.end());
  states.erase(std::unique(states.begin(), states.end()), states.end());

  Summaries jobs;
  for (const TaskState state : states) {
    Query query =
        filter.user.empty()
            ? connection.query("SELECT " TUTTI_JOB_COLUMNS
                               " FROM jobs INDEXED BY jobs_by_state "
                               "WHERE state = ? AND id < ? ORDER BY id DESC")
            : connection.query("SELECT " TUTTI_JOB_COLUMNS
                               " FROM jobs INDEXED BY jobs_by_user "
                               "WHERE user = ? AND state = ? AND id < ? ORDER BY id DESC");
    if (!filter.user.empty()) query.text(filter.user);
    query.integer(static_cast<std::int64_t>(state)).integer(upper_bound(filter));
    auto collected = collect(connection, std::move(query), filter, limit, jobs);
    if (!collected) return collected.error();
  }
  keep_newest(jobs, limit);
  return jobs;
}

}  // namespace

JobSummary summary_of(StoredJob job) {
  return {.row = job.row,
          .name = std::move(job.name),
          .user = std::move(job.facts.user),
          .project = std::move(job.facts.project),
          .kind = std::move(job.facts.kind),
          .command = std::move(job.command),
          .tasks = job.facts.tasks,
          .request = std::move(job.facts.request),
          .priority = job.facts.priority,
          .time_limit = job.facts.time_limit,
          .after = std::move(job.facts.after)};
}

Result<Summaries> list_jobs(Connection& connection, const JobFilter& filter) {
  const std::size_t limit = filter.limit;
  if (!filter.ids.empty()) return list_by_ids(connection, filter, limit);
  if (filter.name.empty() && !(filter.states.empty() && filter.user.empty()))
    return list_by_states(connection, filter, limit);

  Query query =
      filter.name.empty()
          ? connection.query("SELECT " TUTTI_JOB_COLUMNS " FROM jobs WHERE id < ? ORDER BY id DESC")
          : connection.query("SELECT " TUTTI_JOB_COLUMNS
                             " FROM jobs INDEXED BY jobs_by_name WHERE name = ? AND "
                             "name <> '' AND id < ? ORDER BY id DESC");
  if (!filter.name.empty()) query.text(filter.name);
  query.integer(upper_bound(filter));
  Summaries jobs;
  auto collected = collect(connection, std::move(query), filter, limit, jobs);
  if (!collected) return collected.error();
  return jobs;
}

}  // namespace tutti
