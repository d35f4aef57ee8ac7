#include "core/policy/decide.h"

#include <set>
#include <string_view>
#include <vector>

#include "core/policy/backfill.h"
#include "core/policy/fair_order.h"
#include "core/policy/lookahead.h"
#include "core/policy/workspace.h"

namespace tutti {
namespace {

// What others take of the reserved node beside the head is gone from the spare.
void charge(std::optional<Reservation>& reservation, const Request& request,
            const Allocation& allocation, TimePoint bounded_end) {
  if (!reservation || reservation->node != allocation.node) return;
  if (ends_before(*reservation, bounded_end)) return;
  reservation->spare_cpus -= request.cpus;
  reservation->spare_memory -= request.memory;
}

}  // namespace

Plan decide(const Snapshot& snapshot) {
  Plan plan;
  FairOrder order(snapshot);
  Workspace workspace(snapshot.nodes, snapshot.demand);
  std::set<std::string_view> measured;  // kinds of which this pass starts the first run
  std::vector<std::size_t> blocked;
  std::vector<std::uint64_t> taken(snapshot.groups.size());

  while (const auto position = order.next()) {
    const GroupView& view = snapshot.groups[*position];
    if (view.measured_by.value > 0 || (view.measure && measured.contains(view.key->kind))) {
      order.remove(*position);
      continue;
    }
    const Request& request = view.request;
    const TimePoint bounded_end =
        view.bound().value > 0 ? snapshot.now + view.bound() : TimePoint();
    const auto node = workspace.find(request, plan.reservation, bounded_end);
    if (!node) {
      if (!plan.reservation) plan.reservation = reserve_for(view, snapshot, workspace);
      blocked.push_back(*position);
      order.remove(*position);
      continue;
    }
    Allocation allocation = workspace.take(request, *node, plan.reservation, bounded_end);
    allocation.measuring = view.measure;
    if (view.measure) measured.insert(view.key->kind);
    charge(plan.reservation, request, allocation, bounded_end);
    plan.starts.push_back({view.group, std::move(allocation), false});
    ++taken[*position];
    if (!order.granted(*position) && taken[*position] < view.ready) plan.more = true;
  }
  if (!plan.more) look_ahead(snapshot, blocked, taken, plan);
  return plan;
}

}  // namespace tutti
