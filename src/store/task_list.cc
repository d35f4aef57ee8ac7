#include "store/task_list.h"

#include <algorithm>

#include "store/job_rows.h"

namespace tutti {
namespace {

using Tasks = std::vector<TaskRow>;

// One page's task: where it looks and what it looks for.
struct Search {
  Connection& connection;
  JobRow row;
  std::uint32_t count;  // of the job's tasks
  std::uint32_t from;
  std::uint32_t limit;

  std::int64_t job() const { return static_cast<std::int64_t>(row.id.value); }
};

Result<void> collect(const Search& search, Query query, Tasks& tasks) {
  for (std::uint32_t taken = 0; taken < search.limit; ++taken) {
    const auto row = query.next();
    if (!row) return row.error();
    if (!*row) return {};
    TaskRow& task = tasks.emplace_back();
    task.task.job = search.row.id;
    if (!read_task(query, 0, task))
      return search.connection.corrupt("a task of " + job_words(search.row.id));
  }
  return {};
}

Result<void> rows_in_any_state(const Search& search, Tasks& tasks) {
  Query query = search.connection.query(
      "SELECT idx, state, body FROM tasks WHERE job = ? AND idx >= ? ORDER BY idx");
  query.integer(search.job()).integer(search.from);
  return collect(search, std::move(query), tasks);
}

// Success is the common case and has no index: its rows are found by walking the job's.
Result<void> rows_in_state(const Search& search, TaskState state, Tasks& tasks) {
  if (search.row.counts[state] == 0) return {};
  const bool indexed = state != TaskState::kSucceeded;
  Query query = search.connection.query(
      indexed ? "SELECT idx, state, body FROM tasks INDEXED BY tasks_by_state "
                "WHERE job = ? AND state = ? AND state <> 3 AND idx >= ? ORDER BY idx"
              : "SELECT idx, state, body FROM tasks NOT INDEXED "
                "WHERE job = ? AND state = ? AND idx >= ? ORDER BY idx");
  query.integer(search.job()).integer(static_cast<std::int64_t>(state)).integer(search.from);
  return collect(search, std::move(query), tasks);
}

// The first index from which on no task has a row, when all before it have one; else 0. Tasks are
// started in order, so this spares the walk over a million finished ones.
Result<std::uint32_t> end_of_dense_rows(const Search& search) {
  Query last = search.connection.query("SELECT max(idx) FROM tasks WHERE job = ?");
  const auto found = last.integer(search.job()).next();
  if (!found) return found.error();
  if (!*found || last.null_at(0)) return 0u;
  const std::int64_t end = last.integer_at(0) + 1;

  const TaskState rest = search.row.rest;
  std::int64_t rows = std::int64_t{search.count} - search.row.counts[rest];
  if (rest != TaskState::kSucceeded) {
    Query in_rest = search.connection.query(
        "SELECT count(*) FROM tasks INDEXED BY tasks_by_state "
        "WHERE job = ? AND state = ? AND state <> 3");
    in_rest.integer(search.job()).integer(static_cast<std::int64_t>(rest));
    const auto counted = in_rest.next();
    if (!counted) return counted.error();
    rows += in_rest.integer_at(0);
  }
  return rows == end ? static_cast<std::uint32_t>(end) : 0u;
}

// Tasks without a row among [start, end), at most `limit`.
Result<void> rowless(const Search& search, std::uint32_t start, std::uint32_t end, Tasks& tasks) {
  Query query =
      search.connection.query("SELECT idx FROM tasks WHERE job = ? AND idx >= ? ORDER BY idx");
  query.integer(search.job()).integer(start);
  std::uint32_t taken = 0;
  for (std::uint64_t index = start; index < end && taken < search.limit;) {
    const auto row = query.next();
    if (!row) return row.error();
    const std::uint64_t next_row = *row ? static_cast<std::uint64_t>(query.integer_at(0)) : end;
    for (; index < std::min<std::uint64_t>(next_row, end) && taken < search.limit; ++index) {
      TaskRow& task = tasks.emplace_back();
      task.task = {search.row.id, static_cast<std::uint32_t>(index)};
      task.state = search.row.rest;
      ++taken;
    }
    index = std::max(index, next_row + 1);
    if (!*row) break;
  }
  return {};
}

Result<void> all_tasks(const Search& search, Tasks& tasks) {
  if (auto done = rows_in_any_state(search, tasks); !done) return done;
  const auto end = std::min<std::uint64_t>(search.count, std::uint64_t{search.from} + search.limit);
  return rowless(search, search.from, static_cast<std::uint32_t>(end), tasks);
}

Result<void> tasks_in_states(const Search& search, std::vector<TaskState> states, Tasks& tasks) {
  std::sort(states.begin(), states.end());
  states.erase(std::unique(states.begin(), states.end()), states.end());
  for (const TaskState state : states)
    if (auto done = rows_in_state(search, state, tasks); !done) return done;
  const bool wants_rest = std::binary_search(states.begin(), states.end(), search.row.rest);
  if (!wants_rest || search.row.counts[search.row.rest] == 0) return {};
  const auto dense = end_of_dense_rows(search);
  if (!dense) return dense.error();
  return rowless(search, std::max(search.from, *dense), search.count, tasks);
}

}  // namespace

Result<Tasks> list_tasks(Connection& connection, JobId job, const TaskFilter& filter) {
  const auto stored = find_job(connection, job);
  if (!stored) return stored.error();
  const Search search{connection, stored->row, stored->facts.tasks.count, filter.from,
                      filter.limit};
  Tasks tasks;
  auto found = filter.states.empty() ? all_tasks(search, tasks)
                                     : tasks_in_states(search, filter.states, tasks);
  if (!found) return found.error();
  std::sort(tasks.begin(), tasks.end(),
            [](const TaskRow& a, const TaskRow& b) { return a.task.index < b.task.index; });
  if (tasks.size() > search.limit) tasks.resize(search.limit);
  return tasks;
}

}  // namespace tutti
