#include "core/policy/workspace.h"

#include <tuple>

namespace tutti {

bool leaves(const Reservation& reservation, const Request& request, TimePoint bounded_end) {
  if (bounded_end && reservation.at && bounded_end <= reservation.at) return true;
  return request.cpus <= reservation.spare_cpus && request.memory <= reservation.spare_memory &&
         (request.devices.count == 0 || reservation.spare_devices);
}

Workspace::Workspace(std::span<const Node> nodes) : nodes_(nodes.begin(), nodes.end()) {
  rooms_.reserve(nodes_.size());
  for (const Node& node : nodes_) rooms_.push_back(room_of(node));
}

Workspace::Room Workspace::room_of(const Node& node) const {
  Room room{node.free_cpus.value, node.free_memory.value, 0, node.state == Node::State::kUp};
  for (const Device& device : node.devices) {
    if (device.healthy && device.reserved_share < MilliGpu(1000) &&
        device.reserved_memory < device.memory)
      ++room.devices;
  }
  return room;
}

bool Workspace::allowed(const Request& request, std::size_t index,
                        const std::optional<Reservation>& reservation,
                        TimePoint bounded_end) const {
  const Room& room = rooms_[index];
  if (!room.up || request.cpus.value > room.cpus || request.memory.value > room.memory ||
      request.devices.count > room.devices)
    return false;
  if (reservation && reservation->node.value == index + 1 &&
      !leaves(*reservation, request, bounded_end))
    return false;
  return (request.devices.count == 0 && request.labels.empty()) ||
         fits_now(nodes_[index], request);
}

std::optional<NodeId> Workspace::find(const Request& request,
                                      const std::optional<Reservation>& reservation,
                                      TimePoint bounded_end) {
  // The node that was the tightest fit is a tighter one now: if it still fits, it is the best.
  const auto last = last_choice_.find(&request);
  if (last != last_choice_.end() && allowed(request, last->second, reservation, bounded_end))
    return NodeId(static_cast<std::uint32_t>(last->second + 1));

  std::optional<std::size_t> best;
  std::tuple<std::uint32_t, std::int64_t, std::int64_t> best_score;
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    if (request.cpus.value > rooms_[i].cpus) continue;
    const std::tuple score{rooms_[i].devices, rooms_[i].cpus, rooms_[i].memory};
    if (best && !(score < best_score)) continue;
    if (!allowed(request, i, reservation, bounded_end)) continue;
    best = i;
    best_score = score;
  }
  if (!best) return std::nullopt;
  last_choice_[&request] = *best;
  return NodeId(static_cast<std::uint32_t>(*best + 1));
}

Allocation Workspace::take(const Request& request, NodeId id) {
  Node& node = nodes_[id.value - 1];
  Allocation allocation = grant(node, request);
  reserve(node, request, allocation);
  rooms_[id.value - 1] = room_of(node);
  return allocation;
}

bool Workspace::fits(const Request& request, NodeId id) const {
  const Node& node = nodes_[id.value - 1];
  return node.state == Node::State::kUp && fits_now(node, request);
}

}  // namespace tutti
