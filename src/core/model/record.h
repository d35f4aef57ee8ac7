#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "core/model/ids.h"
#include "core/model/outcome.h"
#include "core/model/request.h"
#include "core/model/task_state.h"

namespace tutti {

// A task's row: its state and its newest attempt. Tasks that were never touched have no row; their
// state is the job's `rest`.
struct TaskRow {
  TaskId task;
  TaskState state = TaskState::kQueued;
  std::uint32_t attempts = 0;      // number of the newest attempt
  std::uint32_t retries_used = 0;  // since submission or the user's last retry
  std::uint32_t oom_retries = 0;   // likewise, after running out of a device's memory
  TimePoint not_before;            // end of a back-off
  NodeId node;
  LaneId lane;
  bool staged = false;
  std::vector<DeviceGrant> devices;
  bool measuring = false;
  std::vector<std::uint32_t> ports;
  TimePoint placed_at;
  TimePoint started_at;
  TimePoint ended_at;
  std::int64_t pid = 0;
  std::int64_t pid_birth = 0;           // see AttemptStarted
  Ending stop_cause = Ending::kExited;  // kExited: no stop was ordered
  Outcome outcome;                      // of the newest attempt that ended
  bool operator==(const TaskRow&) const = default;
};

// A job's row: the part of it that changes. `rest` is the state of tasks without a row.
struct JobRow {
  JobId id;
  TaskState state = TaskState::kQueued;
  TaskState rest = TaskState::kQueued;
  TaskCounts counts;
  TimePoint submitted_at;
  TimePoint started_at;   // first start of any task since it was queued, or retried once finished
  TimePoint finished_at;  // zero while unfinished
  int exit_status = 0;    // of the first task that failed
  bool operator==(const JobRow&) const = default;
};

}  // namespace tutti
