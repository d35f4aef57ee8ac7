#include "core/policy/decide.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/policy/backfill.h"
#include "core/policy/gang_placement.h"
#include "core/policy/lookahead.h"
#include "core/policy/queue_order.h"
#include "core/policy/workspace.h"

namespace tutti {
namespace {

// What others take of the reserved node beside the head is gone from the spare.
void charge(std::optional<Reservation>& reservation, const Allocation& allocation,
            TimePoint bounded_end) {
  if (!reservation || ends_before(*reservation, bounded_end)) return;
  for (Reservation::Part& part : reservation->parts) {
    if (part.node != allocation.node) continue;
    part.spare_cpus -= allocation.cpus;
    part.spare_memory -= allocation.memory;
  }
}

TimePoint bounded_end_of(const GroupView& view, TimePoint now) {
  return view.bound().value > 0 ? now + view.bound() : TimePoint();
}

// Whether all ready ranks of a gang were placed.
bool place_gang(const ReadyJob& gang, TimePoint bounded_end, const Snapshot& snapshot,
                Workspace& workspace, Plan& plan) {
  std::vector<Allocation> grants = place_together(workspace.nodes(), gang.ranks,
                                                  {&plan.reservation, bounded_end, snapshot.demand,
                                                   gang.job.value * 64 + gang.tries, gang.former});
  if (grants.size() < gang.ranks.size()) return false;
  for (const Allocation& one : grants) {
    workspace.take(one);
    charge(plan.reservation, one, bounded_end);
  }
  plan.gangs.push_back({gang.job, std::move(grants)});
  return true;
}

// The gangs that found no room in this pass. Who wants the same finds none either: what is free
// becomes less, and what is reserved does not.
class FailedGangs {
 public:
  bool has_like(const ReadyJob& gang, TimePoint bounded_end) const {
    const auto same = [](const Request* a, const Request* b) { return *a == *b; };
    return std::any_of(failed_.begin(), failed_.end(), [&](const auto& one) {
      const std::vector<const Request*>& ranks = one.first->ranks;
      return one.second == bounded_end &&
             std::equal(ranks.begin(), ranks.end(), gang.ranks.begin(), gang.ranks.end(), same);
    });
  }
  void add(const ReadyJob& gang, TimePoint bounded_end) {
    if (!has_like(gang, bounded_end)) failed_.emplace_back(&gang, bounded_end);
  }

 private:
  std::vector<std::pair<const ReadyJob*, TimePoint>> failed_;
};

// Whether jobs that the snapshot leaves out are older.
bool is_beyond(const Snapshot& snapshot, const QueueOrder& order, std::size_t position) {
  return snapshot.beyond.value > 0 && snapshot.beyond < order.head(position).job;
}

// What a group would take, the best first.
std::span<const Request> requests_of(const GroupView& view) {
  return view.choices.empty() ? std::span(&view.request, 1) : std::span(view.choices);
}

// Where a task of a group starts, and as what.
struct Place {
  const Request* request = nullptr;
  NodeId node;
};

std::optional<Place> find_place(const GroupView& view, const Workspace& workspace,
                                const std::optional<Reservation>& reservation,
                                TimePoint bounded_end, std::span<const std::uint32_t> room) {
  for (const Request& request : requests_of(view)) {
    if (const auto node = workspace.find(request, reservation, bounded_end, room))
      return Place{&request, *node};
  }
  return std::nullopt;
}

// What is left in this pass of the room of groups with limits of their own.
class RoomLeft {
 public:
  explicit RoomLeft(const Snapshot& snapshot) : snapshot_(snapshot) {}

  std::span<const std::uint32_t> of(std::size_t position) const {
    const auto it = left_.find(position);
    return it != left_.end() ? it->second : snapshot_.groups[position].room;
  }

  void take(std::size_t position, NodeId node) {
    const GroupView& view = snapshot_.groups[position];
    if (view.room.empty()) return;
    --left_.try_emplace(position, view.room).first->second[node.value - 1];
  }

  // Whether the group has as many tasks as it may wherever it could run: it waits for itself.
  bool used_up(std::size_t position) const {
    const std::span<const std::uint32_t> room = of(position);
    if (room.empty()) return false;
    const std::span<const Request> requests = requests_of(snapshot_.groups[position]);
    return std::none_of(snapshot_.nodes.begin(), snapshot_.nodes.end(), [&](const Node& node) {
      return room[node.id.value - 1] > 0 && node.state == Node::State::kUp &&
             std::any_of(requests.begin(), requests.end(),
                         [&](const Request& request) { return could_ever_fit(node, request); });
    });
  }

 private:
  const Snapshot& snapshot_;
  std::map<std::size_t, std::vector<std::uint32_t>> left_;  // of those that this pass gave some
};

}  // namespace

Plan decide(const Snapshot& snapshot) {
  Plan plan;
  const std::unique_ptr<QueueOrder> order = make_order(snapshot);
  Workspace workspace(snapshot.nodes, snapshot.demand);
  std::set<std::string_view> measured;  // kinds of which this pass starts the first run
  RoomLeft room(snapshot);
  std::vector<std::size_t> blocked;
  std::vector<std::uint64_t> taken(snapshot.groups.size());
  FailedGangs failed;

  // What has begun comes first: it holds room while it waits for the rest of itself.
  for (const auto& [group, gang] : snapshot.regrowing)
    place_gang(gang, TimePoint(), snapshot, workspace, plan);

  const bool strict = snapshot.ordering == Ordering::kFifo;
  // In strict order whoever is removed without having started ends the pass.
  while (const auto position = plan.closed ? std::nullopt : order->next()) {
    if (is_beyond(snapshot, *order, *position) || (strict && plan.more)) {
      plan.more = true;
      break;
    }
    plan.closed = strict;
    const GroupView& view = snapshot.groups[*position];
    if (view.measured_by.value > 0 || (view.measure && measured.contains(view.key->kind))) {
      order->remove(*position);
      continue;
    }
    const TimePoint bounded_end = bounded_end_of(view, snapshot.now);
    if (const ReadyJob& head = order->head(*position); !head.ranks.empty()) {
      if (failed.has_like(head, bounded_end) ||
          !place_gang(head, bounded_end, snapshot, workspace, plan)) {
        failed.add(head, bounded_end);
        if (!plan.reservation && !strict)
          plan.reservation = reserve_for_gang(view, head, snapshot, workspace.nodes());
        blocked.push_back(*position);
        order->remove(*position);
        continue;
      }
      taken[*position] += head.tasks;
      plan.closed = false;
      if (!order->granted_head(*position) && taken[*position] < view.ready) plan.more = true;
      continue;
    }
    const auto place =
        find_place(view, workspace, plan.reservation, bounded_end, room.of(*position));
    if (!place) {
      if (!room.used_up(*position)) {
        if (!plan.reservation && !strict)
          plan.reservation = reserve_for(view, snapshot, workspace, room.of(*position));
        blocked.push_back(*position);
      }
      order->remove(*position);
      continue;
    }
    const std::uint64_t port_seed = order->head(*position).job.value * 64 + taken[*position];
    Allocation allocation =
        workspace.take(*place->request, place->node, plan.reservation, bounded_end, port_seed);
    room.take(*position, place->node);
    allocation.measuring = view.measure;
    if (view.measure) measured.insert(view.key->kind);
    charge(plan.reservation, allocation, bounded_end);
    plan.starts.push_back({view.group, std::move(allocation), false});
    ++taken[*position];
    plan.closed = false;
    if (!order->granted(*position) && taken[*position] < view.ready) plan.more = true;
  }
  // Whoever the snapshot leaves out comes next.
  if (snapshot.beyond.value > 0 && !plan.closed) plan.more = true;
  if (!plan.more && !strict) look_ahead(snapshot, blocked, taken, plan);
  return plan;
}

}  // namespace tutti
