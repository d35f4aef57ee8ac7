#pragma once

#include <cstdint>
#include <string>

#include "core/plan/snapshot.h"

namespace tutti {

// What lies before a task in the queue.
struct Ahead {
  std::uint64_t tasks = 0;
  JobId first;  // of which job the first of them is
  // Its work: CPU seconds, or for a task that wants devices the like of devices (weight_of).
  double seconds_p50 = 0;
  double seconds_p90 = 0;
  bool known = true;  // false: something before it has neither a time limit nor a history
};

// When a task may be expected to start.
struct Forecast {
  TimePoint p50;  // zero: cannot be said
  TimePoint p90;
  std::string basis;
};

// The tasks that fair order puts before `older` tasks of the group at `position` have been taken.
Ahead ahead_of(const Snapshot& snapshot, std::size_t position, std::uint64_t older);

// From the expected ends of what runs and of what lies ahead: the later of "its node has room" and
// "the work before it is done".
Forecast forecast(const Snapshot& snapshot, const Request& request, const Ahead& ahead);

}  // namespace tutti
