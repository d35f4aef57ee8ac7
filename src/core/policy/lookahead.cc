#include "core/policy/lookahead.h"

#include <algorithm>
#include <map>

namespace tutti {
namespace {

constexpr Duration kShort = milliseconds(25);
constexpr Duration kWindow = milliseconds(30);
constexpr Duration kLate = milliseconds(100);
constexpr std::uint32_t kDeepest = 32;

std::uint32_t depth_of(const GroupView& view) {
  if (view.recent_mean.value == 0 || view.recent_mean > kShort) return 0;
  if (view.key->request.devices.count > 0) return 0;
  const auto depth = static_cast<std::uint32_t>(kWindow.value / view.recent_mean.value);
  return std::clamp(depth, 1u, kDeepest);
}

// The lanes of a pass, with what it has staged so far.
class Backlogs {
 public:
  explicit Backlogs(const Snapshot& snapshot) : snapshot_(snapshot) {}

  std::uint32_t staged(const Lane& lane) const {
    const auto it = added_.find(lane.id);
    return lane.staged + (it == added_.end() ? 0 : it->second);
  }

  // The lane of this request with room for one more, the emptiest first; null if there is none.
  const Lane* open_lane(const GroupView& view, std::uint32_t depth) const {
    const Lane* best = nullptr;
    for (const Lane* lane : snapshot_.lanes) {
      const Node& node = snapshot_.nodes[lane->node.value - 1];
      if (lane->width == 0 || lane->request != view.key->request || !node.keeps_backlog ||
          node.state != Node::State::kUp || staged(*lane) >= depth * lane->width)
        continue;
      // Compares staged per allocation without dividing.
      if (best == nullptr || staged(*lane) * best->width < staged(*best) * lane->width) best = lane;
    }
    return best;
  }

  void add(const Lane& lane) { ++added_[lane.id]; }

 private:
  const Snapshot& snapshot_;
  std::map<LaneId, std::uint32_t> added_;
};

void recall_for(const GroupView& waiting, const Snapshot& snapshot, Plan& plan) {
  for (const Lane* lane : snapshot.lanes) {
    if (lane->staged > 0 &&
        could_ever_fit(snapshot.nodes[lane->node.value - 1], waiting.key->request))
      plan.recalls.push_back({lane->id});
  }
}

// Stages what it can of one group. Returns false when something of it is left waiting.
bool stage(const GroupView& view, std::uint64_t left, Backlogs& backlogs, Plan& plan) {
  const std::uint32_t depth = depth_of(view);
  while (left > 0) {
    const Lane* lane = backlogs.open_lane(view, depth);
    if (lane == nullptr) return false;
    backlogs.add(*lane);
    plan.starts.push_back(
        {view.group, {lane->node, lane->request.cpus, lane->request.memory, {}}, true});
    --left;
  }
  return true;
}

bool has_lane(const GroupView& view, const Snapshot& snapshot) {
  return std::any_of(snapshot.lanes.begin(), snapshot.lanes.end(), [&](const Lane* lane) {
    return lane->width > 0 && lane->request == view.key->request;
  });
}

// A backlog behind a task that runs longer than expected, while its node has room.
void free_the_stuck(const Snapshot& snapshot, const Workspace& workspace, Plan& plan) {
  for (const Lane* lane : snapshot.lanes) {
    if (lane->staged == 0 || !workspace.fits(lane->request, lane->node)) continue;
    TimePoint newest;
    for (const RunningView& running : snapshot.running) {
      if (running.lane == lane->id) newest = std::max(newest, running.started_at);
    }
    if (snapshot.now - newest >= kLate) {
      plan.recalls.push_back({lane->id});
    } else if (!plan.wake_at || newest + kLate < plan.wake_at) {
      plan.wake_at = newest + kLate;
    }
  }
}

}  // namespace

void look_ahead(const Snapshot& snapshot, std::span<const std::size_t> blocked,
                std::span<const std::uint64_t> taken, const Workspace& workspace, Plan& plan) {
  Backlogs backlogs(snapshot);
  for (const std::size_t position : blocked) {
    const GroupView& view = snapshot.groups[position];
    if (depth_of(view) == 0 || !has_lane(view, snapshot)) {
      recall_for(view, snapshot, plan);
      return;
    }
    if (!stage(view, view.ready - taken[position], backlogs, plan)) return;
  }
  if (blocked.empty()) free_the_stuck(snapshot, workspace, plan);
}

}  // namespace tutti
