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

// One call of decide(): what it has placed so far, and who found no room.
class Pass {
 public:
  explicit Pass(const Snapshot& snapshot)
      : snapshot_(snapshot),
        strict_(snapshot.ordering == Ordering::kFifo),
        order_(make_order(snapshot)),
        workspace_(snapshot.nodes, snapshot.demand),
        room_(snapshot),
        taken_(snapshot.groups.size()) {}

  Plan run() {
    // What has begun comes first: it holds room while it waits for the rest of itself.
    for (const auto& [group, gang] : snapshot_.regrowing) place_gang(gang, TimePoint());
    while (const auto position = plan_.closed ? std::nullopt : order_->next()) {
      // In strict order whoever is removed without having started ends the pass.
      if (is_beyond(*position) || (strict_ && plan_.more)) {
        plan_.more = true;
        break;
      }
      plan_.closed = strict_;
      serve(*position);
    }
    // Whoever the snapshot leaves out comes next.
    if (snapshot_.beyond.value > 0 && !plan_.closed) plan_.more = true;
    // What started made room within reach.
    if (snapshot_.more_groups && !(plan_.starts.empty() && plan_.gangs.empty())) plan_.more = true;
    if (!plan_.more && !strict_) look_ahead(snapshot_, blocked_, taken_, plan_);
    return std::move(plan_);
  }

 private:
  // Whether jobs that the snapshot leaves out are older.
  bool is_beyond(std::size_t position) const {
    return snapshot_.beyond.value > 0 && snapshot_.beyond < order_->head(position).job;
  }

  void serve(std::size_t position) {
    const GroupView& view = snapshot_.groups[position];
    if (view.out_of_reach || view.measured_by.value > 0 ||
        (view.measure && measured_.contains(view.key->kind)))
      return order_->remove(position);
    const TimePoint bounded_end = bounded_end_of(view, snapshot_.now);
    if (order_->head(position).ranks.empty())
      start_task(position, bounded_end);
    else
      start_gang(position, bounded_end);
  }

  void start_task(std::size_t position, TimePoint bounded_end) {
    const GroupView& view = snapshot_.groups[position];
    const auto place =
        find_place(view, workspace_, plan_.reservation, bounded_end, room_.of(position));
    if (!place) {
      if (room_.used_up(position)) return order_->remove(position);
      if (!plan_.reservation && !strict_)
        plan_.reservation = reserve_for(view, snapshot_, workspace_, room_.of(position));
      return block(position);
    }
    const std::uint64_t port_seed = order_->head(position).job.value * 64 + taken_[position];
    Allocation allocation =
        workspace_.take(*place->request, place->node, plan_.reservation, bounded_end, port_seed);
    room_.take(position, place->node);
    allocation.measuring = view.measure;
    if (view.measure) measured_.insert(view.key->kind);
    charge(plan_.reservation, allocation, bounded_end);
    plan_.starts.push_back({view.group, std::move(allocation), false});
    ++taken_[position];
    plan_.closed = false;
    if (!order_->granted(position) && taken_[position] < view.ready) plan_.more = true;
  }

  void start_gang(std::size_t position, TimePoint bounded_end) {
    const GroupView& view = snapshot_.groups[position];
    const ReadyJob& head = order_->head(position);
    if (failed_.has_like(head, bounded_end) || !place_gang(head, bounded_end)) {
      failed_.add(head, bounded_end);
      if (!plan_.reservation && !strict_)
        plan_.reservation = reserve_for_gang(view, head, snapshot_, workspace_.nodes());
      return block(position);
    }
    taken_[position] += head.tasks;
    plan_.closed = false;
    if (!order_->granted_head(position) && taken_[position] < view.ready) plan_.more = true;
  }

  // Whether all ready ranks of a gang were placed.
  bool place_gang(const ReadyJob& gang, TimePoint bounded_end) {
    std::vector<Allocation> grants =
        place_together(workspace_.nodes(), gang.ranks,
                       {&plan_.reservation, bounded_end, snapshot_.demand,
                        gang.job.value * 64 + gang.tries, gang.former});
    if (grants.size() < gang.ranks.size()) return false;
    for (const Allocation& one : grants) {
      workspace_.take(one);
      charge(plan_.reservation, one, bounded_end);
    }
    plan_.gangs.push_back({gang.job, std::move(grants)});
    return true;
  }

  // It found no room.
  void block(std::size_t position) {
    blocked_.push_back(position);
    order_->remove(position);
  }

  const Snapshot& snapshot_;
  const bool strict_;
  const std::unique_ptr<QueueOrder> order_;
  Workspace workspace_;
  RoomLeft room_;
  std::set<std::string_view> measured_;  // kinds of which this pass starts the first run
  std::vector<std::size_t> blocked_;
  std::vector<std::uint64_t> taken_;  // tasks, by position of their group
  FailedGangs failed_;
  Plan plan_;
};

}  // namespace

Plan decide(const Snapshot& snapshot) {
  return Pass(snapshot).run();
}

}  // namespace tutti
