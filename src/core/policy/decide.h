#pragma once

#include "core/plan/plan.h"
#include "core/plan/snapshot.h"

namespace tutti {

// The scheduler. Takes groups in the order that the snapshot asks for, gives each task the tightest
// node that fits, keeps room for the first group that finds none (backfill), and stages very short
// work behind running attempts (lookahead). In strict order it stops at the first group that finds
// no room. Same snapshot, same plan.
Plan decide(const Snapshot& snapshot);

}  // namespace tutti
