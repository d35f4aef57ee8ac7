// The parts of Ledger that know of lanes: who holds their allocations, and who is next.
#include <algorithm>
#include <utility>

#include "core/lifecycle/ledger.h"

namespace tutti {

bool shares_lanes(const GroupKey& key) {
  return key.ranks.empty() && key.request.devices.count == 0 && key.request.ports == 0;
}

LaneId Ledger::lane_for(NodeId node, const GroupKey& key) const {
  const auto it = shared_lanes_.find({node, key.request});
  return it != shared_lanes_.end() && shares_lanes(key) ? it->second : new_lane();
}

void Ledger::hold(const ActiveAttempt& attempt) {
  const Job& job = job_at(attempt.id.task.job);
  const GroupKey& key = groups_[job.group].key;
  Lane& lane = lanes_[attempt.lane];
  if (lane.active == 0) {
    lane = Lane{.id = attempt.lane,
                .node = attempt.allocation.node,
                .request = request_of(job, attempt.id.task.index),
                .shared = shares_lanes(key)};
    next_lane_ = std::max(next_lane_, attempt.lane.value + 1);
    if (lane.shared) shared_lanes_[{lane.node, lane.request}] = lane.id;
  }
  ++lane.active;
  if (attempt.staged) {
    ++lane.staged;
    lane.backlog.push_back(attempt.id.task);
  } else {
    ++lane.width;
    reserve(node_at(attempt.allocation.node), attempt.allocation);
  }
  held_[key.account] += weight_of(attempt.allocation);
  if (attempt.allocation.measuring) measurers_[key.kind] = attempt.id.task;
}

void Ledger::leave_lane(const ActiveAttempt& attempt, bool released) {
  Lane& lane = lanes_.at(attempt.lane);
  Node& node = node_at(lane.node);
  --lane.active;
  if (attempt.staged) {
    --lane.staged;
    std::erase(lane.backlog, attempt.id.task);
  }
  // A lane without attempts holds nothing, whatever its executor said while it died.
  const std::uint32_t freed = lane.active == 0 ? lane.width : (released && lane.width > 0 ? 1 : 0);
  for (std::uint32_t i = 0; i < freed; ++i) release(node, attempt.allocation);
  lane.width -= freed;
  if (lane.active > 0) return;
  if (const auto it = shared_lanes_.find({lane.node, lane.request});
      it != shared_lanes_.end() && it->second == lane.id)
    shared_lanes_.erase(it);
  lanes_.erase(lane.id);
}

// Jobs are restored one by one; a backlog's order is that of placement.
void Ledger::sort_backlog(Lane& lane) {
  std::sort(lane.backlog.begin(), lane.backlog.end(), [&](const TaskId& a, const TaskId& b) {
    return std::pair(active_.at(a).placed_at, a) < std::pair(active_.at(b).placed_at, b);
  });
}

void Ledger::unstage(Lane& lane, ActiveAttempt& attempt) {
  attempt.staged = false;
  --lane.staged;
  std::erase(lane.backlog, attempt.id.task);
}

// What an executor does: an allocation goes to the first of the backlog, also the one that a new
// attempt brings along; the new one then waits behind the others. As many attempts hold an
// allocation as the lane has, so that the rows of its attempts are enough to know its width again.
void Ledger::queue_behind_backlog(ActiveAttempt& attempt, Changes& changes) {
  Lane& lane = lanes_.at(attempt.lane);
  if (attempt.staged || lane.backlog.empty()) return;
  attempt.staged = true;
  ++lane.staged;
  lane.backlog.push_back(attempt.id.task);
  changes.tasks.push_back(task_row(job_at(attempt.id.task.job), attempt.id.task.index, &attempt));
  hand_on(attempt.lane, changes);
}

// Allocations that nobody holds go to the backlog, without waiting for word of the start.
void Ledger::hand_on(LaneId id, Changes& changes) {
  const auto it = lanes_.find(id);
  if (it == lanes_.end()) return;
  Lane& lane = it->second;
  while (lane.active - lane.staged < lane.width && !lane.backlog.empty()) {
    ActiveAttempt& next = active_.at(lane.backlog.front());
    unstage(lane, next);
    changes.tasks.push_back(task_row(job_at(next.id.task.job), next.id.task.index, &next));
  }
}

}  // namespace tutti
