#pragma once

#include <string>
#include <vector>

#include "core/lifecycle/ledger.h"
#include "core/plan/snapshot.h"

namespace tutti {

// A job that would give room on a node by ending, and what it holds there. It refers to a snapshot.
struct Holder {
  JobId job;
  TimePoint end;  // when all of that is expected to have ended; zero: unknown
  std::vector<const Allocation*> held;
};

// The jobs, but for `own`, that hold something of a node, in the order in which they are expected
// to end; ties by id.
std::vector<Holder> holders_of(const Ledger& ledger, const Snapshot& snapshot, JobId own,
                               const Node& node);

// The node as it is without them.
Node node_without(Node node, const std::vector<Holder>& holders);

// The first ones whose ends together give room, without those that are not needed for that; none:
// not even all of them (or very many) do.
std::vector<Holder> fewest_that_free(const std::vector<Holder>& holders, const Node& node,
                                     const Request& request);

// Such as "the end of jobs 1 and 2 (tutti cancel 1,2)".
std::string words_of_ends(const std::vector<Holder>& holders);

}  // namespace tutti
