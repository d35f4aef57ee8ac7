#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/lifecycle/event.h"
#include "core/model/ids.h"
#include "core/model/job_spec.h"
#include "core/model/profile.h"
#include "core/model/record.h"
#include "core/model/task_state.h"
#include "core/model/usage.h"
#include "core/speed/speed_table.h"

namespace tutti {

// One controller round: all of it becomes durable together, or none of it.
struct Round {
  std::vector<Event> events;
  std::vector<std::pair<JobId, const JobSpec*>> submitted;
  std::vector<JobRow> jobs;
  std::vector<TaskRow> tasks;
  // By kind; nothing: forgotten.
  std::vector<std::pair<std::string, std::optional<Profile>>> profiles;
  std::vector<UsageRecord> usage;
  // False: nothing in it outlives this machine (leases), so that it need not be on disk, only in
  // the system's hands.
  bool lasting = true;
};

// One step of a prune: what of the past is to be forgotten.
struct PruneStep {
  std::vector<JobId> jobs;
  TimePoint before;  // of the jobs only those that had ended by then
  // Environments that no job used which had a number up to `newest`.
  std::vector<std::int64_t> environments;
  JobId newest;
};

// Everything needed to build the ledger again.
struct Recovered {
  std::uint64_t next_job = 1;
  std::uint64_t next_lane = 1;
  struct UnfinishedJob {
    JobRow row;
    JobFacts facts;
    std::vector<TaskRow> tasks;
  };
  std::vector<UnfinishedJob> jobs;  // by id
  std::vector<Node> nodes;
  std::vector<std::pair<std::string, Profile>> profiles;
  SpeedTable speeds;
  std::vector<UsageRecord> usage;
};

// Port: what the controller needs of durable storage. Called from the controller thread only.
class Store {
 public:
  virtual ~Store() = default;

  // Writes a round and returns when it is on disk. A lease that succeeds in it may be forgotten but
  // for its events; its number is not used again.
  virtual Result<void> commit(const Round& round) = 0;
  virtual Result<Recovered> recover() = 0;

  // A job's spec without its lines.
  virtual Result<JobSpec> load_spec(JobId job) = 0;
  // Lines [first, first + count) of a batch.
  virtual Result<std::vector<std::string>> load_lines(JobId job, std::uint32_t first,
                                                      std::uint32_t count) = 0;
  // The final state of a finished job; kNotFound for one that never was, and for one that has not
  // finished its state so far.
  virtual Result<JobRow> load_job(JobId job) = 0;
  // The rows that a finished job's tasks have, so that it can be retried.
  virtual Result<std::vector<TaskRow>> load_tasks(JobId job) = 0;
  // Forgets finished jobs but for their events, and returns when that is on disk. Such a job is
  // gone at once, while of its rows only as many go as take some milliseconds. True: some are left,
  // and the same step is to be taken again. Numbers of jobs are not used again.
  virtual Result<bool> prune(const PruneStep& /*step*/) {
    return Error{ErrorCode::kUnsupported, "this store forgets nothing"};
  }
};

}  // namespace tutti
