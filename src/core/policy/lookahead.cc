#include "core/policy/lookahead.h"

#include <algorithm>
#include <map>

namespace tutti {
namespace {

constexpr Duration kShort = milliseconds(50);
constexpr Duration kWindow = milliseconds(100);
constexpr Duration kLate = milliseconds(300);
constexpr std::uint32_t kDeepest = 32;

std::uint32_t depth_of(const GroupView& view) {
  if (view.recent_mean.value == 0 || view.recent_mean > kShort) return 0;
  if (!shares_lanes(*view.key) || !view.room.empty()) return 0;
  const auto depth = static_cast<std::uint32_t>(kWindow.value / view.recent_mean.value);
  return std::clamp(depth, 2u, kDeepest);
}

// The lanes of a pass: when the newest of each one's running attempts started, and what this pass
// has staged so far.
class Backlogs {
 public:
  explicit Backlogs(const Snapshot& snapshot) : snapshot_(snapshot) {
    for (const RunningView& running : snapshot.running) {
      TimePoint& newest = newest_[running.lane];
      newest = std::max(newest, running.started_at);
    }
    for (const LaneView& view : snapshot.lanes) {
      const Lane* lane = view.lane;
      if (lane->shared && lane->width > 0 && snapshot.nodes[lane->node.value - 1].keeps_backlog)
        by_request_[lane->request].push_back(lane);
    }
  }

  // When the lane's backlog counts as stuck; in the past: nothing has moved there for too long.
  TimePoint late_at(const Lane& lane) const {
    const auto it = newest_.find(lane.id);
    return it == newest_.end() ? snapshot_.now : it->second + kLate;
  }

  bool has_lane(const Request& request) const { return by_request_.contains(request); }

  // The lane of this request with room for one more, the emptiest first; null if there is none.
  const Lane* open_lane(const Request& request, std::uint32_t depth) const {
    const auto lanes = by_request_.find(request);
    if (lanes == by_request_.end()) return nullptr;
    const Lane* best = nullptr;
    for (const Lane* lane : lanes->second) {
      const Node& node = snapshot_.nodes[lane->node.value - 1];
      if (node.state != Node::State::kUp || staged(*lane) >= depth * lane->width ||
          late_at(*lane) <= snapshot_.now)
        continue;
      // Compares staged per allocation without dividing.
      if (best == nullptr || staged(*lane) * best->width < staged(*best) * lane->width) best = lane;
    }
    return best;
  }

  void add(const Lane& lane) { ++added_[lane.id]; }

  std::uint32_t staged(const Lane& lane) const {
    const auto it = added_.find(lane.id);
    return lane.staged + (it == added_.end() ? 0 : it->second);
  }

 private:
  const Snapshot& snapshot_;
  std::map<LaneId, TimePoint> newest_;
  std::map<Request, std::vector<const Lane*>> by_request_;
  std::map<LaneId, std::uint32_t> added_;
};

void recall_for(const GroupView& waiting, const Snapshot& snapshot, Plan& plan) {
  for (const LaneView& view : snapshot.lanes) {
    const bool overtaken = std::any_of(view.staged_groups.begin(), view.staged_groups.end(),
                                       [&](std::uint32_t group) { return group != waiting.group; });
    if (overtaken && could_ever_fit(snapshot.nodes[view.lane->node.value - 1], waiting.request))
      plan.recalls.push_back({view.lane->id});
  }
}

// Stages what it can of one group. Returns false when something of it is left waiting.
bool stage(const GroupView& view, std::uint64_t left, Backlogs& backlogs, Plan& plan) {
  const std::uint32_t depth = depth_of(view);
  while (left > 0) {
    const Lane* lane = backlogs.open_lane(view.request, depth);
    if (lane == nullptr) return false;
    backlogs.add(*lane);
    plan.starts.push_back(
        {view.group,
         {.node = lane->node, .cpus = lane->request.cpus, .memory = lane->request.memory},
         true});
    --left;
  }
  return true;
}

// A backlog behind tasks that run longer than expected goes back into the queue, where it may find
// room elsewhere and keeps its place.
void free_the_stuck(const Snapshot& snapshot, const Backlogs& backlogs, Plan& plan) {
  for (const LaneView& view : snapshot.lanes) {
    const Lane* lane = view.lane;
    // What this pass stages counts too: nothing else may happen until it is late.
    if (backlogs.staged(*lane) == 0) continue;
    const TimePoint late_at = backlogs.late_at(*lane);
    if (late_at <= snapshot.now) {
      plan.recalls.push_back({lane->id});
    } else if (!plan.wake_at || late_at < plan.wake_at) {
      plan.wake_at = late_at;
    }
  }
}

void stage_in_order(const Snapshot& snapshot, std::span<const std::size_t> blocked,
                    std::span<const std::uint64_t> taken, Backlogs& backlogs, Plan& plan) {
  for (std::size_t i = 0; i < blocked.size(); ++i) {
    const GroupView& view = snapshot.groups[blocked[i]];
    if (depth_of(view) == 0 || !backlogs.has_lane(view.request)) {
      // Behind short work that comes before it, it has to wait anyway.
      if (i == 0) recall_for(view, snapshot, plan);
      return;
    }
    if (!stage(view, view.ready - taken[blocked[i]], backlogs, plan)) return;
  }
}

}  // namespace

void look_ahead(const Snapshot& snapshot, std::span<const std::size_t> blocked,
                std::span<const std::uint64_t> taken, Plan& plan) {
  const bool idle = std::all_of(snapshot.lanes.begin(), snapshot.lanes.end(),
                                [](const LaneView& view) { return view.lane->staged == 0; });
  const bool short_work = !blocked.empty() && depth_of(snapshot.groups[blocked.front()]) > 0;
  if (idle && !short_work) return;
  Backlogs backlogs(snapshot);
  stage_in_order(snapshot, blocked, taken, backlogs, plan);
  free_the_stuck(snapshot, backlogs, plan);
}

}  // namespace tutti
