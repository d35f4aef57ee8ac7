#pragma once

#include <cstdint>

#include "cli/session.h"

namespace tutti {

// Follows a job of many tasks to its end: a progress bar on a terminal, then one line for each task
// that failed on stderr and one summary line. Ctrl-C stops the watching. The result is the exit
// status: 1 if a task did not succeed.
int follow_batch(Session& session, std::uint64_t id, bool quiet);

}  // namespace tutti
