#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/snapshot.h"

namespace tutti {

// Tasks of one group, or ranks of a gang, that lie before a task.
struct WorkAhead {
  const Request* request = nullptr;
  std::uint64_t tasks = 0;
  Duration p50;
  Duration bound;
};

// What lies before a task in the queue. It refers to the snapshot.
struct Ahead {
  std::uint64_t tasks = 0;
  JobId first;  // of which job the first of them is
  std::vector<WorkAhead> work;
  bool known = true;  // false: something before it has neither a time limit nor a history
  Duration bound;     // when the task itself will have ended; zero: unknown
};

// When a task may be expected to start.
struct Forecast {
  TimePoint p50;  // zero: cannot be said
  TimePoint p90;
  std::string basis;
};

// Why it cannot be said when there will be room: because of `what` or of what runs for too long.
std::string unknown_basis(const Snapshot& snapshot, const char* what);

// The tasks that fair order puts before `older` tasks of the group at `position` have been taken.
Ahead ahead_of(const Snapshot& snapshot, std::size_t position, std::uint64_t older);

// From the expected ends of what runs and of what lies ahead: the later of "its node has room" and
// "its turn has come", or that it may pass without delaying anybody (ListSchedule).
Forecast forecast(const Snapshot& snapshot, const Request& request, const Ahead& ahead);

}  // namespace tutti
