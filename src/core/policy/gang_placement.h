#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/snapshot.h"

namespace tutti {

// The conditions under which ranks are placed.
struct GangConditions {
  const std::optional<Reservation>* reservation = nullptr;  // room that is kept for others
  TimePoint bounded_end;                 // when the ranks will have ended; zero: unknown
  std::span<const DeviceDemand> demand;  // what else waits for devices: see grant()
  std::uint64_t port_seed = 0;           // where to begin among the ports
  // What each rank held before, where the others know it by that; null: nothing. Empty: none did.
  std::span<const Allocation* const> former;
};

// The grants for ranks that start together or not at all, in their order; as many of them as find
// room. All are placed if there are as many grants as ranks. It prefers one node, then few nodes
// with devices of one type, then few nodes; neighbouring ranks are neighbours. A rank that comes
// back alone gets its former node and ports if they are free.
std::vector<Allocation> place_together(std::span<const Node> nodes,
                                       std::span<const Request* const> ranks,
                                       const GangConditions& conditions);

// When all of the ranks will find room if nothing new is started and what runs ends as `end_of`
// says, and the nodes as they are then. Zero: nobody knows, and the nodes are empty. Nothing: not
// even the empty nodes suffice.
struct GangRoom {
  TimePoint at;
  std::vector<Node> nodes;
  std::vector<Allocation> grants;
};
std::optional<GangRoom> room_for_gang(const Snapshot& snapshot, std::span<const Node> nodes,
                                      std::span<const Request* const> ranks,
                                      TimePoint RunningView::*end_of);

// The reservation for a gang that finds no room.
std::optional<Reservation> reserve_for_gang(const GroupView& view, const ReadyJob& head,
                                            const Snapshot& snapshot, std::span<const Node> nodes);

// The node without anybody's work, others' included.
Node emptied(Node node);

}  // namespace tutti
