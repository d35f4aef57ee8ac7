#pragma once

#include "core/policy/ranked_order.h"

namespace tutti {

// Shortest remaining time first: the job whose waiting tasks are the least work, in seconds of
// running one after the other. How long a task takes is what was measured of its kind, else its
// time limit; a job of which neither is known comes after all others. Nothing that runs is stopped
// for a shorter job.
Rank srtf_rank();

}  // namespace tutti
