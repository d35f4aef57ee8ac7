#pragma once

#include <unistd.h>

#include <chrono>
#include <functional>

namespace tutti {

// How long tests wait for what must happen: much longer than it takes on a slow machine.
inline constexpr std::chrono::seconds kPatience{30};

// Waits for something that nobody announces. False: it did not happen.
inline bool eventually(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    usleep(1000);
  }
  return true;
}

}  // namespace tutti
