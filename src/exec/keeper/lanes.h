#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "core/model/ids.h"

namespace tutti {

// The lanes of one node: pools of equal allocations, each with a first-in-first-out backlog. Says
// who runs next and when an allocation is given back; starts nothing itself. As many attempts run
// in a lane as it has allocations, always. Owned by the keeper's supervisor.
class Lanes {
 public:
  // Puts an attempt at the end of the lane's backlog; one that is not staged brings its allocation.
  // False: it is staged in a lane that has no allocation left (it was given back while the order
  // was on its way), so nothing would ever start it, and it was not taken.
  bool add(LaneId lane, AttemptId attempt, bool staged);

  // The next attempt that has an allocation to run on; counts as running from now on.
  std::optional<AttemptId> take_next(LaneId lane);

  // A running attempt has ended, or could not be started. True: the backlog is empty and the
  // allocation is given back. False: take_next() will give its successor.
  bool end_one(LaneId lane);

  // Takes an attempt out of the backlog. False: it is not there.
  bool remove(LaneId lane, AttemptId attempt);

  // Nobody waits for a report: something runs, and each lane that runs has work of its own left.
  bool all_have_backlog() const { return busy_ > 0 && thirsty_ == 0; }
  std::size_t waiting() const { return waiting_; }

 private:
  struct Lane {
    std::uint32_t width = 0;
    std::uint32_t running = 0;
    std::deque<AttemptId> backlog;
  };
  // Keeps the two counters right around a change of one lane.
  void count(const Lane& lane, int sign);
  void forget_if_empty(LaneId id, const Lane& lane);

  std::unordered_map<LaneId, Lane> lanes_;
  std::size_t waiting_ = 0;
  int busy_ = 0;     // lanes with running attempts
  int thirsty_ = 0;  // those of them without backlog
};

}  // namespace tutti
