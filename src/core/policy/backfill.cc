#include "core/policy/backfill.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace tutti {
namespace {

constexpr TimePoint kNobodyKnows{std::numeric_limits<std::int64_t>::max()};

Node emptied(Node node) {
  node.free_cpus = node.cpus;
  node.free_memory = node.memory;
  for (Device& device : node.devices) {
    device.reserved_memory = MiB();
    device.reserved_share = MilliGpu();
    device.holders = 0;
  }
  return node;
}

// When `request` fits `node` if nothing new is started there, and the node as it is then.
std::pair<TimePoint, Node> earliest_fit(const Node& node, const Request& request,
                                        std::vector<const RunningView*> running, TimePoint now) {
  std::stable_sort(running.begin(), running.end(), [](const auto* a, const auto* b) {
    return (a->bound_end ? a->bound_end : kNobodyKnows) <
           (b->bound_end ? b->bound_end : kNobodyKnows);
  });
  Node later = node;
  TimePoint at = now;
  std::size_t next = 0;
  while (!fits_now(later, request)) {
    // Only what this very pass granted is left: it will end, but nobody knows when.
    if (next == running.size()) return {kNobodyKnows, emptied(node)};
    const RunningView& ends = *running[next++];
    release(later, *ends.request, *ends.allocation);
    at = ends.bound_end ? std::max(at, ends.bound_end) : kNobodyKnows;
  }
  // Everything else that ends by then is spare too.
  for (; next < running.size(); ++next) {
    const RunningView& ends = *running[next];
    if ((ends.bound_end ? ends.bound_end : kNobodyKnows) > at) break;
    release(later, *ends.request, *ends.allocation);
  }
  return {at, later};
}

}  // namespace

std::optional<Reservation> reserve_for(const GroupView& head, const Snapshot& snapshot,
                                       const Workspace& workspace) {
  std::vector<std::vector<const RunningView*>> by_node(snapshot.nodes.size());
  for (const RunningView& running : snapshot.running)
    by_node[running.node.value - 1].push_back(&running);

  const Request& request = head.key->request;
  std::optional<Reservation> best;
  TimePoint best_at = kNobodyKnows;
  for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
    const Node& node = workspace.node(snapshot.nodes[i].id);
    if (node.state != Node::State::kUp || !could_ever_fit(node, request)) continue;
    const auto [at, later] = earliest_fit(node, request, by_node[i], snapshot.now);
    if (best && at >= best_at) continue;
    best_at = at;
    best = Reservation{.group = head.group,
                       .node = node.id,
                       .at = best_at == kNobodyKnows ? TimePoint() : best_at,
                       .spare_cpus = later.free_cpus - request.cpus,
                       .spare_memory = later.free_memory - request.memory,
                       .spare_devices = request.devices.count == 0};
  }
  return best;
}

}  // namespace tutti
