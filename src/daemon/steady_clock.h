#pragma once

#include <chrono>

#include "base/units.h"
#include "control/front.h"

namespace tutti {

// The time of day when the daemon started plus the time since: it never jumps, whatever happens to
// the system's clock. Any thread may ask.
class SteadyClock : public Clock {
 public:
  TimePoint now() override {
    const auto elapsed = std::chrono::steady_clock::now() - steady_start_;
    return start_ +
           Duration(std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count());
  }

 private:
  std::chrono::steady_clock::time_point steady_start_ = std::chrono::steady_clock::now();
  TimePoint start_ = TimePoint(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
};

}  // namespace tutti
