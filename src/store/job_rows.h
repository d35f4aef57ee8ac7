#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "control/store.h"
#include "store/sqlite.h"

namespace tutti {

// A row of the jobs table.
struct StoredJob {
  JobRow row;
  JobFacts facts;
  std::string name;
  std::string command;  // shortened, for display
};

// The columns that read_job_facts and read_job read, in their order, for SELECT lists.
#define TUTTI_JOB_FACT_COLUMNS                                                                   \
  "id, state, rest, counts, submitted_at, started_at, finished_at, exit_status, user, project, " \
  "kind, shape, task_count, first_label, label_step, max_parallel, cpus, memory, limits, "       \
  "rare_request, priority, time_limit, retries, backoff, waits_for"
#define TUTTI_JOB_COLUMNS TUTTI_JOB_FACT_COLUMNS ", name, command"

// The current row of a query over those columns; false when it holds what nobody wrote.
bool read_job_facts(const Query& query, JobRow& row, JobFacts& facts);
bool read_job(const Query& query, StoredJob& job);

// Columns `column` and following: idx, state, body.
bool read_task(const Query& query, int column, TaskRow& row);

// "job 17", for messages.
std::string job_words(JobId job);

// Lookups that writer and readers share. Several of them see one state only inside a transaction.
Result<StoredJob> find_job(Connection& connection, JobId job);
Result<JobSpec> find_spec(Connection& connection, JobId job);
Result<std::vector<TaskRow>> find_tasks(Connection& connection, JobId job);

}  // namespace tutti
