#include "core/policy/gang_placement.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/policy/workspace.h"

namespace tutti {
namespace {

using Ranks = std::span<const Request* const>;

// The part of the reservation on this node that `bounded_end` does not free; null: none.
const Reservation::Part* reserved_part(const GangConditions& conditions, NodeId node) {
  if (conditions.reservation == nullptr || !*conditions.reservation) return nullptr;
  const Reservation& reservation = **conditions.reservation;
  if (ends_before(reservation, conditions.bounded_end)) return nullptr;
  return reservation.on(node);
}

// Grants for as many of the leading ranks as the node takes.
std::vector<Allocation> fill(const Node& node, Ranks ranks, std::uint64_t seed,
                             const GangConditions& conditions) {
  std::vector<Allocation> grants;
  const Reservation::Part* part = reserved_part(conditions, node.id);
  MilliCpu spare_cpus = part != nullptr ? part->spare_cpus : node.cpus;
  MiB spare_memory = part != nullptr ? part->spare_memory : node.memory;
  std::span<const DeviceId> kept;
  if (part != nullptr) kept = part->devices;
  if (node.state != Node::State::kUp || !fits_beside(node, *ranks.front(), kept)) return grants;
  Node later = node;
  for (const Request* request : ranks) {
    if (request->cpus > spare_cpus || request->memory > spare_memory ||
        !fits_beside(later, *request, kept))
      break;
    grants.push_back(grant(later, *request, kept, conditions.demand, seed + grants.size()));
    reserve(later, grants.back());
    spare_cpus -= request->cpus;
    spare_memory -= request->memory;
  }
  return grants;
}

// Fills one node after the other, first the one that takes most of the ranks that are left; of
// those that take equally many, the fullest.
std::vector<Allocation> fill_all(std::span<const Node> nodes, std::vector<bool> open, Ranks ranks,
                                 const GangConditions& conditions) {
  std::vector<Allocation> grants;
  while (grants.size() < ranks.size()) {
    const Ranks left = ranks.subspan(grants.size());
    std::vector<Allocation> best;
    std::size_t best_node = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!open[i]) continue;
      std::vector<Allocation> made =
          fill(nodes[i], left, conditions.port_seed + grants.size(), conditions);
      const bool better =
          made.size() > best.size() || (!made.empty() && made.size() == best.size() &&
                                        nodes[i].free_cpus < nodes[best_node].free_cpus);
      if (!better) continue;
      best = std::move(made);
      best_node = i;
    }
    if (best.empty()) return grants;
    open[best_node] = false;
    std::move(best.begin(), best.end(), std::back_inserter(grants));
  }
  return grants;
}

std::size_t count_nodes(const std::vector<Allocation>& grants) {
  std::set<NodeId> nodes;
  for (const Allocation& grant : grants) nodes.insert(grant.node);
  return nodes.size();
}

// A grant on the former node, with the former ports if they are free; nothing: there is no room.
std::optional<Allocation> grant_again(const Node& node, const Request& request,
                                      const Allocation& former, const GangConditions& conditions) {
  if (node.state != Node::State::kUp || !fits_now(node, request)) return std::nullopt;
  Allocation made = grant(node, request, {}, conditions.demand, conditions.port_seed);
  const bool free = std::none_of(former.ports.begin(), former.ports.end(), [&](auto port) {
    return std::binary_search(node.ports.begin(), node.ports.end(), port);
  });
  if (free) made.ports = former.ports;
  return made;
}

// Grants for ranks of which some had a place, those where they were if possible; none: that leaves
// no room for the others.
std::vector<Allocation> place_again(std::span<const Node> nodes, Ranks ranks,
                                    std::span<const Allocation* const> former,
                                    const GangConditions& conditions) {
  std::vector<Node> later(nodes.begin(), nodes.end());
  std::vector<std::optional<Allocation>> again(ranks.size());
  std::vector<const Request*> others;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (former[i] != nullptr) {
      Node& node = later[former[i]->node.value - 1];
      again[i] = grant_again(node, *ranks[i], *former[i], conditions);
      if (again[i]) reserve(node, *again[i]);
    }
    if (!again[i]) others.push_back(ranks[i]);
  }
  const std::vector<Allocation> rest = place_together(later, others, conditions);
  if (rest.size() < others.size()) return {};
  std::vector<Allocation> grants;
  auto next = rest.begin();
  for (const std::optional<Allocation>& one : again) grants.push_back(one ? *one : *next++);
  return grants;
}

bool has_type(const Node& node, const std::string& type) {
  return std::any_of(node.devices.begin(), node.devices.end(),
                     [&](const Device& device) { return device.type == type; });
}

}  // namespace

std::vector<Allocation> place_together(std::span<const Node> nodes, Ranks ranks,
                                       const GangConditions& conditions) {
  if (ranks.empty()) return {};
  if (!conditions.former.empty()) {
    GangConditions fresh = conditions;
    fresh.former = {};
    std::vector<Allocation> again = place_again(nodes, ranks, conditions.former, fresh);
    return again.empty() ? place_together(nodes, ranks, fresh) : again;
  }
  std::vector<Allocation> best =
      fill_all(nodes, std::vector<bool>(nodes.size(), true), ranks, conditions);
  const bool devices = std::any_of(ranks.begin(), ranks.end(), [](const Request* request) {
    return request->devices.count > 0;
  });
  if (!devices || best.size() < ranks.size() || count_nodes(best) == 1) return best;
  // Several nodes: rather a few more of one type of device than a mixture, whose slowest rank sets
  // the pace.
  std::vector<Allocation> best_alike;
  for (const DeviceType& type : device_types(nodes)) {
    std::vector<bool> open(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) open[i] = has_type(nodes[i], type.type);
    std::vector<Allocation> alike = fill_all(nodes, std::move(open), ranks, conditions);
    if (alike.size() < ranks.size()) continue;
    if (best_alike.empty() || count_nodes(alike) < count_nodes(best_alike))
      best_alike = std::move(alike);
  }
  return best_alike.empty() ? best : best_alike;
}

Node emptied(Node node) {
  node.free_cpus = node.cpus;
  node.free_memory = node.memory;
  node.foreign_cpus = MilliCpu();
  node.foreign_memory = MiB();
  node.jobs = 0;
  node.ports.clear();
  for (Device& device : node.devices) {
    device.reserved_memory = MiB();
    device.reserved_share = MilliGpu();
    device.holders = 0;
    device.foreign = MiB();
  }
  return node;
}

std::optional<GangRoom> room_for_gang(const Snapshot& snapshot, std::span<const Node> nodes,
                                      Ranks ranks, TimePoint RunningView::*end_of) {
  const GangConditions conditions{.demand = snapshot.demand};
  GangRoom room{snapshot.now, {nodes.begin(), nodes.end()}, {}};
  std::vector<const RunningView*> running;
  for (const RunningView& view : snapshot.running) {
    if (view.*end_of) running.push_back(&view);
  }
  std::stable_sort(running.begin(), running.end(),
                   [&](const auto* a, const auto* b) { return a->*end_of < b->*end_of; });
  auto next = running.begin();
  while (true) {
    room.grants = place_together(room.nodes, ranks, conditions);
    if (room.grants.size() == ranks.size()) return room;
    if (next == running.end()) break;
    // What ends together is given back together: trying is what costs.
    room.at = std::max(room.at, (*next)->*end_of);
    for (; next != running.end() && (*next)->*end_of <= room.at; ++next)
      release(room.nodes[(*next)->node.value - 1], *(*next)->allocation);
  }
  room.at = TimePoint();
  for (Node& node : room.nodes) node = emptied(std::move(node));
  room.grants = place_together(room.nodes, ranks, conditions);
  if (room.grants.size() < ranks.size()) return std::nullopt;
  return room;
}

std::optional<Reservation> reserve_for_gang(const GroupView& view, const ReadyJob& head,
                                            const Snapshot& snapshot, std::span<const Node> nodes) {
  std::optional<GangRoom> room =
      room_for_gang(snapshot, nodes, head.ranks, &RunningView::bound_end);
  if (!room) return std::nullopt;
  Reservation reservation{.group = view.group, .at = room->at, .parts = {}};
  for (const Allocation& one : room->grants) {
    Node& node = room->nodes[one.node.value - 1];
    reserve(node, one);
    const auto known = std::find_if(reservation.parts.begin(), reservation.parts.end(),
                                    [&](const auto& part) { return part.node == one.node; });
    Reservation::Part& part =
        known != reservation.parts.end() ? *known : reservation.parts.emplace_back();
    part.node = one.node;
    part.spare_cpus = node.free_cpus;
    part.spare_memory = node.free_memory;
    for (const DeviceGrant& grant : one.devices) part.devices.push_back(grant.id);
  }
  return reservation;
}

}  // namespace tutti
