#pragma once

#include <string>

#include "base/result.h"
#include "core/simulation/simulation_request.h"

namespace tutti {

// What the home has run of jobs that were submitted since then (zero: ever), and its nodes as they
// are now. Reads the database beside a daemon that may be running, and changes nothing. Of a task
// that ran several times the last run counts; tasks that never ran, and leases, are left out.
Result<Recording> read_recording(const std::string& home, TimePoint since);

}  // namespace tutti
