#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "core/model/node.h"
#include "core/model/request.h"
#include "core/plan/plan.h"

namespace tutti {

// The nodes as they would be after the grants of this pass: tentative placements, nothing else.
// Chooses nodes by best fit: the one that the request fills most, so that large holes stay whole;
// nodes without devices first for requests without; ties by id.
class Workspace {
 public:
  // `demand` is what else waits for devices: see grant().
  explicit Workspace(std::span<const Node> nodes, std::span<const DeviceDemand> demand = {});

  // A node where the request fits now without touching the reservation; `bounded_end` is when the
  // task will have ended at the latest (zero: unknown), `room` as in GroupView.
  std::optional<NodeId> find(const Request& request, const std::optional<Reservation>& reservation,
                             TimePoint bounded_end, std::span<const std::uint32_t> room = {}) const;
  // Takes what find() found, under the same conditions.
  Allocation take(const Request& request, NodeId node,
                  const std::optional<Reservation>& reservation, TimePoint bounded_end,
                  std::uint64_t port_seed = 0);
  // Takes a grant that was made elsewhere.
  void take(const Allocation& allocation);
  bool fits(const Request& request, NodeId node) const;
  const Node& node(NodeId id) const { return nodes_[id.value - 1]; }
  std::span<const Node> nodes() const { return nodes_; }

 private:
  bool allowed(const Request& request, std::size_t index,
               const std::optional<Reservation>& reservation, TimePoint bounded_end) const;

  // The devices of a node that must be left alone.
  std::span<const DeviceId> kept(std::size_t index, const std::optional<Reservation>& reservation,
                                 TimePoint bounded_end) const;

  std::vector<Node> nodes_;
  std::span<const DeviceDemand> demand_;
  // What a scan over thousands of nodes looks at first, close together.
  struct Room {
    std::int64_t cpus = 0;
    std::int64_t memory = 0;
    std::uint32_t devices = 0;  // that take at least one more holder
    bool up = false;
  };
  std::vector<Room> rooms_;
  // The nodes that are up, the fullest first: by free devices, CPUs, memory, then id.
  using Order = std::tuple<std::uint32_t, std::int64_t, std::int64_t, std::size_t>;
  std::set<Order> order_;

  Room room_of(const Node& node) const;
  Order place_of(std::size_t index) const;
};

// Whether something that ends by `bounded_end` (zero: unknown) is gone when the reservation is due.
bool ends_before(const Reservation& reservation, TimePoint bounded_end);

// Whether the reservation leaves this much of a node to others until it is due.
bool leaves(const Reservation& reservation, NodeId node, const Request& request,
            TimePoint bounded_end);

}  // namespace tutti
