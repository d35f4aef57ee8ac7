#pragma once

#include "base/strong_int.h"

namespace tutti {

// Thousandths of a CPU core.
using MilliCpu = Quantity<struct MilliCpuTag>;
// Mebibytes of host or device memory.
using MiB = Quantity<struct MiBTag>;
// Thousandths of a GPU's compute.
using MilliGpu = Quantity<struct MilliGpuTag>;

// A length of time in microseconds.
using Duration = Quantity<struct DurationTag>;
constexpr Duration microseconds(std::int64_t n) {
  return Duration(n);
}
constexpr Duration milliseconds(std::int64_t n) {
  return Duration(n * 1000);
}
constexpr Duration seconds(std::int64_t n) {
  return Duration(n * 1000000);
}

// A moment, in microseconds since 1970-01-01 UTC. Zero means "not yet" or "never".
struct TimePoint : StrongInt<struct TimePointTag, std::int64_t> {
  using StrongInt::StrongInt;
  constexpr explicit operator bool() const { return value != 0; }
  constexpr TimePoint operator+(Duration d) const { return TimePoint(value + d.value); }
  constexpr TimePoint operator-(Duration d) const { return TimePoint(value - d.value); }
  constexpr Duration operator-(TimePoint o) const { return Duration(value - o.value); }
};

// The first of two moments of which either may be never.
constexpr TimePoint earlier(TimePoint a, TimePoint b) {
  if (!a || !b) return a ? a : b;
  return a < b ? a : b;
}

}  // namespace tutti
