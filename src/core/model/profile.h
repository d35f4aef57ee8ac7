#pragma once

#include <array>
#include <cstdint>

#include "base/units.h"

namespace tutti {

// What was measured for one kind of job: how long its attempts ran and how much memory they used.
// A histogram in steps of a quarter octave, from 100 microseconds up, so that merging and updating
// are exact and its size is fixed. Device memory and speed per device type will stand beside it.
class Profile {
 public:
  static constexpr std::size_t kBuckets = 128;

  void add(Duration ran, MiB peak_memory);

  std::uint64_t samples() const { return samples_; }
  // The q-quantile of the running time (0 < q < 1); zero without samples.
  Duration quantile(double q) const;
  // A mean that follows the last dozen attempts; zero without samples.
  Duration recent_mean() const { return recent_mean_; }
  MiB peak_memory() const { return peak_memory_; }

  // For the store: the exact content.
  struct Content {
    std::uint64_t samples = 0;
    Duration recent_mean;
    MiB peak_memory;
    std::array<std::uint32_t, kBuckets> buckets{};
  };
  Content content() const { return {samples_, recent_mean_, peak_memory_, buckets_}; }
  static Profile of(const Content& content);
  bool operator==(const Profile&) const = default;

 private:
  std::uint64_t samples_ = 0;
  Duration recent_mean_;
  MiB peak_memory_;
  std::array<std::uint32_t, kBuckets> buckets_{};
};

}  // namespace tutti
