#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "core/model/ids.h"
#include "core/model/request.h"

namespace tutti {

// Start the group's next task with this grant, or stage it behind others of its lane.
struct Start {
  std::uint32_t group = 0;
  Allocation allocation;
  bool staged = false;
  bool operator==(const Start&) const = default;
};

// Start these ranks of a gang together, in their order.
struct GangStart {
  JobId job;
  std::vector<Allocation> ranks;
  bool operator==(const GangStart&) const = default;
};

// Take back what is staged in this lane: something else must come first.
struct Recall {
  LaneId lane;
  bool operator==(const Recall&) const = default;
};

// Room on one node, of a gang on several, that is kept for the first group that does not fit.
struct Reservation {
  struct Part {
    NodeId node;
    // What others may still take of the node without delaying it.
    MilliCpu spare_cpus;
    MiB spare_memory;
    std::vector<DeviceId> devices;  // those that are kept for it
    bool operator==(const Part&) const = default;
  };
  std::uint32_t group = 0;
  TimePoint at;  // when it will fit at the latest; zero: nobody knows
  std::vector<Part> parts;

  // What is kept on this node; null: nothing.
  const Part* on(NodeId node) const;
  bool operator==(const Reservation&) const = default;
};

// What a policy proposes. It is data: the controller applies it, in this order.
struct Plan {
  std::vector<GangStart> gangs;
  std::vector<Start> starts;
  std::vector<Recall> recalls;
  std::optional<Reservation> reservation;
  bool more = false;  // another pass right away would start more
  // Whatever is submitted cannot start before something ends or a node changes.
  bool closed = false;
  TimePoint wake_at;  // look again then, even if nothing happens; zero: no need
  bool operator==(const Plan&) const = default;
};

}  // namespace tutti
