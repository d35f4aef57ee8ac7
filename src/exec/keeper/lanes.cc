#include "exec/keeper/lanes.h"

#include <algorithm>

#include "base/check.h"

namespace tutti {

bool Lanes::add(LaneId id, AttemptId attempt, bool staged) {
  if (staged && !lanes_.contains(id)) return false;
  Lane& lane = lanes_[id];
  count(lane, -1);
  if (!staged) ++lane.width;
  lane.backlog.push_back(attempt);
  ++waiting_;
  count(lane, +1);
  return true;
}

std::optional<AttemptId> Lanes::take_next(LaneId id) {
  const auto found = lanes_.find(id);
  if (found == lanes_.end()) return std::nullopt;
  Lane& lane = found->second;
  if (lane.running >= lane.width || lane.backlog.empty()) return std::nullopt;
  count(lane, -1);
  const AttemptId next = lane.backlog.front();
  lane.backlog.pop_front();
  --waiting_;
  ++lane.running;
  count(lane, +1);
  return next;
}

bool Lanes::end_one(LaneId id) {
  Lane& lane = lanes_.at(id);
  TUTTI_CHECK(lane.running > 0);
  count(lane, -1);
  --lane.running;
  const bool released = lane.backlog.empty();
  if (released) --lane.width;
  count(lane, +1);
  forget_if_empty(id, lane);
  return released;
}

bool Lanes::remove(LaneId id, AttemptId attempt) {
  const auto found = lanes_.find(id);
  if (found == lanes_.end()) return false;
  Lane& lane = found->second;
  const auto at = std::find(lane.backlog.begin(), lane.backlog.end(), attempt);
  if (at == lane.backlog.end()) return false;
  count(lane, -1);
  lane.backlog.erase(at);
  --waiting_;
  count(lane, +1);
  forget_if_empty(id, lane);
  return true;
}

void Lanes::count(const Lane& lane, int sign) {
  if (lane.running == 0) return;
  busy_ += sign;
  if (lane.backlog.empty()) thirsty_ += sign;
}

void Lanes::forget_if_empty(LaneId id, const Lane& lane) {
  if (lane.width == 0 && lane.backlog.empty()) lanes_.erase(id);
}

}  // namespace tutti
