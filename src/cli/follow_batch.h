#pragma once

#include <cstdint>

#include "cli/follow.h"
#include "cli/session.h"

namespace tutti {

// Follows a job of many tasks to its end: a progress bar on a terminal, then one line for each task
// that failed on stderr and one summary line. Ctrl-C stops the watching, or cancels the job. The
// status is the job's own.
Watched follow_batch(Session& session, std::uint64_t id, bool quiet,
                     bool cancel_on_interrupt = false);

}  // namespace tutti
