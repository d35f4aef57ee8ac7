#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "control/store.h"
#include "store/sqlite.h"

namespace tutti {

// Numbers that are kept up to date in the meta table because counting them would read every job.
struct Tally {
  TaskCounts jobs;  // how many jobs are in each state
  std::uint64_t next_lane = 1;
  std::uint64_t next_job = 1;  // no smaller number than this may be given to a job any more
  bool operator==(const Tally&) const = default;
};

Result<Tally> read_tally(Connection& connection);

// Turns rounds into transactions. Belongs to the store, and with it to the controller thread.
class RoundWriter {
 public:
  RoundWriter(Connection& connection, Tally tally) : connection_(connection), tally_(tally) {}

  // All of the round is on disk, or an Error and nothing of it.
  Result<void> commit(const Round& round);
  // Likewise of a step of a prune; true: rows of its jobs are left.
  Result<bool> prune(const PruneStep& step);

 private:
  // How the next transaction is made durable.
  Result<void> wait_for_disk(bool lasting);
  Result<void> write(const Round& round);
  Result<bool> write_prune(const PruneStep& step);
  Result<void> write_events(const std::vector<Event>& events);
  Result<void> write_node(const EventBody& body);
  Result<void> write_speeds(const EventBody& body);
  Result<void> write_submitted(const Round& round);
  Result<void> insert_job(const JobRow& row, const JobSpec& spec);
  Result<void> insert_spec(JobId job, const JobSpec& spec);
  Result<std::int64_t> environment_id(const std::vector<std::string>& environment);
  Result<void> write_jobs(const Round& round);
  // Drops all rows of a lease that succeeded: a loop of leases must not fill the disk.
  Result<void> forget(JobId lease);
  // Drops the row of a job that had finished by `before`. False: it has not.
  Result<bool> forget_finished(JobId job, TimePoint before);
  Result<void> forget_environments(const PruneStep& step);
  Result<void> write_tasks(const Round& round);
  Result<void> keep_earlier_attempts(const TaskRow& newer, const Round& round);
  Result<void> insert_earlier(const TaskRow& row);
  Result<void> write_profiles(const Round& round);
  Result<void> write_usage(const Round& round);
  Result<void> write_tally();
  // The attempt's end among the round's events; null when it did not end in this round.
  const AttemptEnded* ended_in(const Round& round, AttemptId attempt);

  Connection& connection_;
  Tally tally_;         // as on disk
  bool synced_ = true;  // rounds are on disk when commit() returns
  Tally next_;          // as it will be when the round is on disk

  // Of the round that is being written, filled when first needed.
  std::unordered_map<TaskId, std::vector<const AttemptEnded*>> ended_;
  bool ended_filled_ = false;
  std::unordered_set<JobId> forgotten_;

  // The environment of the last submission: scripts submit many jobs from one.
  std::vector<std::string> environment_;
  std::int64_t environment_id_ = 0;

  std::string buffer_;
  std::string second_buffer_;
};

}  // namespace tutti
