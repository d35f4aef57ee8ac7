#include "core/policy/workspace.h"

#include <algorithm>
#include <limits>

namespace tutti {

bool ends_before(const Reservation& reservation, TimePoint bounded_end) {
  return bounded_end && reservation.at && bounded_end <= reservation.at;
}

bool leaves(const Reservation& reservation, NodeId node, const Request& request,
            TimePoint bounded_end) {
  const Reservation::Part* part = reservation.on(node);
  if (part == nullptr || ends_before(reservation, bounded_end)) return true;
  return request.cpus <= part->spare_cpus && request.memory <= part->spare_memory;
}

Workspace::Workspace(std::span<const Node> nodes, std::span<const DeviceDemand> demand)
    : nodes_(nodes.begin(), nodes.end()), demand_(demand) {
  rooms_.reserve(nodes_.size());
  std::vector<Order> order;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    rooms_.push_back(room_of(nodes_[i]));
    if (rooms_[i].up) order.push_back(place_of(i));
  }
  std::sort(order.begin(), order.end());
  order_ = std::set<Order>(order.begin(), order.end());
}

Workspace::Order Workspace::place_of(std::size_t index) const {
  return {rooms_[index].devices, rooms_[index].cpus, rooms_[index].memory, index};
}

Workspace::Room Workspace::room_of(const Node& node) const {
  Room room{(node.free_cpus - node.foreign_cpus).value,
            (node.free_memory - node.foreign_memory).value, 0,
            node.state == Node::State::kUp && (node.max_jobs == 0 || node.jobs < node.max_jobs)};
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
  if (reservation && !leaves(*reservation, nodes_[index].id, request, bounded_end)) return false;
  if (request.devices.count == 0 && request.labels.empty() && request.ports == 0)
    return nodes_[index].remote.address.empty();
  return fits_beside(nodes_[index], request, kept(index, reservation, bounded_end));
}

std::span<const DeviceId> Workspace::kept(std::size_t index,
                                          const std::optional<Reservation>& reservation,
                                          TimePoint bounded_end) const {
  if (!reservation || ends_before(*reservation, bounded_end)) return {};
  const Reservation::Part* part = reservation->on(nodes_[index].id);
  if (part == nullptr) return {};
  return part->devices;
}

std::optional<NodeId> Workspace::find(const Request& request,
                                      const std::optional<Reservation>& reservation,
                                      TimePoint bounded_end,
                                      std::span<const std::uint32_t> room) const {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  Order from{request.devices.count, request.cpus.value, kLeast, 0};
  for (auto it = order_.lower_bound(from); it != order_.end();) {
    if (std::get<1>(*it) < request.cpus.value) {
      // Too few CPUs: on to the first node with as many free devices that has enough.
      std::get<0>(from) = std::get<0>(*it);
      it = order_.lower_bound(from);
      continue;
    }
    const std::size_t index = std::get<3>(*it);
    if ((room.empty() || room[index] > 0) && allowed(request, index, reservation, bounded_end))
      return NodeId(static_cast<std::uint32_t>(index + 1));
    ++it;
  }
  return std::nullopt;
}

Allocation Workspace::take(const Request& request, NodeId id,
                           const std::optional<Reservation>& reservation, TimePoint bounded_end,
                           std::uint64_t port_seed) {
  Allocation allocation = grant(nodes_[id.value - 1], request,
                                kept(id.value - 1, reservation, bounded_end), demand_, port_seed);
  take(allocation);
  return allocation;
}

void Workspace::take(const Allocation& allocation) {
  const std::size_t index = allocation.node.value - 1;
  reserve(nodes_[index], allocation);
  order_.erase(place_of(index));
  rooms_[index] = room_of(nodes_[index]);
  order_.insert(place_of(index));
}

bool Workspace::fits(const Request& request, NodeId id) const {
  const Node& node = nodes_[id.value - 1];
  return node.state == Node::State::kUp && fits_now(node, request);
}

}  // namespace tutti
