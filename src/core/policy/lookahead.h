#pragma once

#include <span>

#include "core/plan/plan.h"
#include "core/plan/snapshot.h"

namespace tutti {

// Lookahead keeps a node busy with very short tasks. A task of a millisecond must not wait for the
// scheduler's round and its fsync, so some tasks are staged behind running ones of equal request:
// the executor starts them without asking.
//   - Staged are only tasks without devices and limits for nodes, of kinds whose recent mean is
//   below kShort, in the
//     order of the queue, until a lane has about kWindow of work.
//   - Nobody is overtaken: at the first waiting group that cannot be staged, staging ends; if that
//     group is the first of all, what is already staged on nodes that it could use is recalled.
//   - If the running tasks of a lane turn out long (kLate), its backlog is recalled.
// `blocked` are the positions of groups that found no room, in the order of the queue; `taken` says
// how many tasks of each group the plan has started so far.
void look_ahead(const Snapshot& snapshot, std::span<const std::size_t> blocked,
                std::span<const std::uint64_t> taken, Plan& plan);

}  // namespace tutti
