#include "store/sqlite_history.h"

#include "store/job_list.h"
#include "store/job_rows.h"
#include "store/round_writer.h"
#include "store/schema.h"
#include "store/task_list.h"

namespace tutti {

Result<std::unique_ptr<SqliteHistory>> SqliteHistory::open(const std::string& path) {
  auto connection = open_reader(path);
  if (!connection) return connection.error();
  return std::unique_ptr<SqliteHistory>(new SqliteHistory(std::move(*connection)));
}

Result<std::vector<JobSummary>> SqliteHistory::list(const JobFilter& filter) {
  Transaction snapshot(*connection_);
  if (auto begun = snapshot.begin_read(); !begun) return begun.error();
  return list_jobs(*connection_, filter);
}

Result<JobSummary> SqliteHistory::summary(JobId job) {
  auto stored = find_job(*connection_, job);
  if (!stored) return stored.error();
  return summary_of(std::move(*stored));
}

Result<JobSpec> SqliteHistory::spec(JobId job) {
  Transaction snapshot(*connection_);
  if (auto begun = snapshot.begin_read(); !begun) return begun.error();
  return find_spec(*connection_, job);
}

Result<std::vector<TaskRow>> SqliteHistory::tasks(JobId job, const TaskFilter& filter) {
  Transaction snapshot(*connection_);
  if (auto begun = snapshot.begin_read(); !begun) return begun.error();
  return list_tasks(*connection_, job, filter);
}

Result<std::vector<std::string>> SqliteHistory::lines(JobId job, std::uint32_t first,
                                                      std::uint32_t count) {
  return lines_.read(*connection_, job, first, count);
}

Result<std::vector<TaskRow>> SqliteHistory::earlier_attempts(TaskId task) {
  Query query = connection_->query(
      "SELECT idx, state, body FROM earlier_attempts WHERE job = ? AND idx = ? ORDER BY number");
  query.integer(static_cast<std::int64_t>(task.job.value)).integer(task.index);
  std::vector<TaskRow> attempts;
  for (;;) {
    const auto row = query.next();
    if (!row) return row.error();
    if (!*row) return attempts;
    TaskRow& attempt = attempts.emplace_back();
    attempt.task = task;
    if (!read_task(query, 0, attempt))
      return connection_->corrupt("an earlier attempt of " + job_words(task.job));
  }
}

Result<TaskCounts> SqliteHistory::job_counts() {
  const auto tally = read_tally(*connection_);
  if (!tally) return tally.error();
  return tally->jobs;
}

Result<JobId> SqliteHistory::last_job() {
  const auto newest = connection_->number("SELECT max(id) FROM jobs");
  if (!newest) return newest.error();
  if (*newest == 0) return not_found("there is no job yet: submit one with `tutti submit`");
  return JobId(static_cast<std::uint64_t>(*newest));
}

}  // namespace tutti
