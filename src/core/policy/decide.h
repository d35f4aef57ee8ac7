#pragma once

#include "core/plan/plan.h"
#include "core/plan/snapshot.h"

namespace tutti {

// The scheduler. Takes groups in fair order, gives each task the tightest node that fits, keeps
// room for the first group that finds none (backfill), and stages very short work behind running
// attempts (lookahead). Same snapshot, same plan.
Plan decide(const Snapshot& snapshot);

}  // namespace tutti
