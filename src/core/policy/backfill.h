#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/plan/plan.h"
#include "core/plan/snapshot.h"
#include "core/policy/workspace.h"

namespace tutti {

// Backfill lets smaller work pass the first group that does not fit (the head), but never delays
// it:
//   1. for each node that could hold the head, running attempts give back their resources in the
//      order of their expected ends until the head fits;
//   2. the node where that happens first is reserved (ties by id; an unknown end is the last);
//   3. until then others may use that node only if they end before, or if they fit beside the head.
// Only one head has a reservation, so the next one is looked for again in every pass.
// `workspace` has what this pass granted to groups before it, `room` what the head's own limits
// leave it (as in GroupView): nothing is kept for it where it is itself what it waits for.
std::optional<Reservation> reserve_for(const GroupView& head, const Snapshot& snapshot,
                                       const Workspace& workspace,
                                       std::span<const std::uint32_t> room = {});

}  // namespace tutti
