#pragma once

#include "core/policy/ranked_order.h"

namespace tutti {

// Least attained service (Tiresias): the job that has had the least of the cluster so far, in core
// seconds with devices counted as weight_of() does, of what has ended and of what runs. Nothing has
// to be known of how long anything takes. Service counts in steps that double from kFirstStep on,
// so that jobs of about equal service stay in the order of submission instead of taking turns.
// Nothing that runs is stopped for a job that has had less.
inline constexpr double kFirstStep = 60;

Rank las_rank(const Snapshot& snapshot);

}  // namespace tutti
