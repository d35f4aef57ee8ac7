#pragma once

#include "core/policy/ranked_order.h"

namespace tutti {

// First in, first out: all jobs rank alike, so that the older one comes first. With
// Ordering::kFifo decide() stops at the first job that finds no room, whatever else would fit; with
// Ordering::kBackfill it keeps room for that job and lets pass what does not delay it
// (backfill.h).
Rank fifo_rank();

}  // namespace tutti
