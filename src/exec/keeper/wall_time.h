#pragma once

#include <ctime>

#include "base/units.h"

namespace tutti {

// The time of day, which ends of attempts are stamped with.
inline TimePoint wall_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return TimePoint(now.tv_sec * 1000000 + now.tv_nsec / 1000);
}

}  // namespace tutti
