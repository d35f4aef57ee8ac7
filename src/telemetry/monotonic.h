#pragma once

#include <cstdint>
#include <functional>

namespace tutti {

// Microseconds of a clock that never goes back; another one in tests.
using MonotonicClock = std::function<std::int64_t()>;
std::int64_t monotonic_us();

}  // namespace tutti
