#pragma once

#include <algorithm>

#include "base/units.h"
#include "control/front.h"

namespace tutti {

// Time that moves only when it is told to. Starts at a fixed moment, so that a simulation is the
// same on every run. Owned by the simulation; one thread.
class VirtualClock : public Clock {
 public:
  // Not zero, because a zero TimePoint means "never".
  static constexpr TimePoint kStart{1'000'000'000'000'000};

  TimePoint now() override { return now_; }
  // Moves to `time`; time never runs backwards.
  void move_to(TimePoint time) { now_ = std::max(now_, time); }
  // The time since the start of the simulation.
  Duration elapsed() const { return now_ - kStart; }

 private:
  TimePoint now_ = kStart;
};

}  // namespace tutti
