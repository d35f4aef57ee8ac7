#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/store.h"
#include "core/model/job_spec.h"

namespace tutti {

// What `ls` shows of a job.
struct JobSummary {
  JobRow row;
  std::string name;
  std::string user;
  std::string project;
  std::string kind;
  std::string command;  // shortened, for display
  TaskSet tasks;
  Request request;
  std::int32_t priority = 0;
  Duration time_limit;
  std::vector<Dependency> after;
};

// Which jobs to list: newest first, page by page.
struct JobFilter {
  std::vector<TaskState> states;  // empty: all
  std::string user;               // empty: all
  std::string name;               // empty: all; otherwise the exact name
  std::vector<JobId> ids;         // empty: all
  JobId before;                   // only older jobs; zero: from the newest
  std::uint32_t limit = 50;
};

// Which tasks of a job are asked for, by index.
struct TaskFilter {
  std::vector<TaskState> states;  // empty: all. Tasks without a row are listed too
  std::uint32_t from = 0;         // first index
  std::uint32_t limit = 50;
};

// Port: reads what was committed, finished jobs included. Called from the API's thread, while the
// controller writes: it sees whole rounds only.
class History {
 public:
  virtual ~History() = default;
  virtual Result<std::vector<JobSummary>> list(const JobFilter& filter) = 0;
  virtual Result<JobSummary> summary(JobId job) = 0;
  virtual Result<JobSpec> spec(JobId job) = 0;  // without lines
  virtual Result<std::vector<TaskRow>> tasks(JobId job, const TaskFilter& filter) = 0;
  virtual Result<std::vector<std::string>> lines(JobId job, std::uint32_t first,
                                                 std::uint32_t count) = 0;
  // Earlier attempts of one task, oldest first, without its newest.
  virtual Result<std::vector<TaskRow>> earlier_attempts(TaskId task) = 0;
  // Number of jobs in each state, but for those that were pruned.
  virtual Result<TaskCounts> job_counts() = 0;
  // The newest job, for the selector `last`; kNotFound when there is none.
  virtual Result<JobId> last_job() = 0;
};

}  // namespace tutti
