#include "core/policy/backfill.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace tutti {
namespace {

constexpr TimePoint kNobodyKnows{std::numeric_limits<std::int64_t>::max()};

// What of a node matters for a request: devices are copied only if it wants some. `empty`: as it is
// without anybody's work, others' included.
Node outline(const Node& node, const Request& request, bool empty) {
  Node copy;
  copy.free_cpus = empty ? node.cpus : node.free_cpus;
  copy.free_memory = empty ? node.memory : node.free_memory;
  if (!empty) {
    copy.foreign_cpus = node.foreign_cpus;
    copy.foreign_memory = node.foreign_memory;
  }
  copy.max_jobs = node.max_jobs;
  copy.jobs = empty ? 0 : node.jobs;
  if (!request.labels.empty()) {
    copy.name = node.name;
    copy.labels = node.labels;
  }
  if (request.devices.count == 0) return copy;
  copy.devices = node.devices;
  if (!empty) return copy;
  for (Device& device : copy.devices) {
    device.reserved_memory = MiB();
    device.reserved_share = MilliGpu();
    device.holders = 0;
    device.foreign = MiB();
  }
  return copy;
}

void give_back(Node& node, const RunningView& ends) {
  if (node.devices.empty()) {
    node.free_cpus += ends.allocation->cpus;
    node.free_memory += ends.allocation->memory;
    --node.jobs;
  } else {
    release(node, *ends.allocation);
  }
}

TimePoint end_of(const RunningView& view) {
  return view.bound_end ? view.bound_end : kNobodyKnows;
}

// When `request` fits `node` if nothing new is started there, and what is free of it then.
std::pair<TimePoint, Node> earliest_fit(const Node& node, const Request& request,
                                        std::vector<const RunningView*>& running, TimePoint now) {
  std::stable_sort(running.begin(), running.end(),
                   [](const auto* a, const auto* b) { return end_of(*a) < end_of(*b); });
  Node later = outline(node, request, false);
  TimePoint at = now;
  std::size_t next = 0;
  while (!fits_now(later, request)) {
    // Only what this very pass granted is left: it will end, but nobody knows when.
    if (next == running.size()) return {kNobodyKnows, outline(node, request, true)};
    at = std::max(at, end_of(*running[next]));
    give_back(later, *running[next++]);
  }
  // Everything else that ends by then is spare too.
  for (; next < running.size() && end_of(*running[next]) <= at; ++next)
    give_back(later, *running[next]);
  return {at, std::move(later)};
}

}  // namespace

std::optional<Reservation> reserve_for(const GroupView& head, const Snapshot& snapshot,
                                       const Workspace& workspace,
                                       std::span<const std::uint32_t> room) {
  std::vector<std::vector<const RunningView*>> by_node(snapshot.nodes.size());
  for (const RunningView& running : snapshot.running)
    by_node[running.node.value - 1].push_back(&running);

  const Request& request = head.request;
  std::optional<Reservation> best;
  TimePoint best_at = kNobodyKnows;
  for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
    if (!room.empty() && room[i] == 0) continue;
    const Node& node = workspace.node(snapshot.nodes[i].id);
    if (node.state != Node::State::kUp || !could_ever_fit(node, request)) continue;
    auto [at, later] = earliest_fit(node, request, by_node[i], snapshot.now);
    if (best && at >= best_at) continue;
    best_at = at;
    later.id = node.id;
    best = Reservation{.group = head.group,
                       .at = best_at == kNobodyKnows ? TimePoint() : best_at,
                       .parts = {{.node = node.id,
                                  .spare_cpus = later.free_cpus - request.cpus,
                                  .spare_memory = later.free_memory - request.memory,
                                  .devices = {}}}};
    for (const DeviceGrant& one : grant(later, request, {}, snapshot.demand).devices)
      best->parts.front().devices.push_back(one.id);
  }
  return best;
}

}  // namespace tutti
