#include "core/model/profile.h"

#include <algorithm>
#include <cmath>

namespace tutti {
namespace {

constexpr double kSmallest = 100.0;  // microseconds
constexpr double kStepsPerOctave = 4.0;

std::size_t bucket_of(Duration ran) {
  const double ratio = std::max(1.0, static_cast<double>(ran.value) / kSmallest);
  const auto bucket = static_cast<std::size_t>(std::log2(ratio) * kStepsPerOctave);
  return std::min(bucket, Profile::kBuckets - 1);
}

Duration middle_of(std::size_t bucket) {
  const double exponent = (static_cast<double>(bucket) + 0.5) / kStepsPerOctave;
  return Duration(std::llround(kSmallest * std::exp2(exponent)));
}

}  // namespace

void Profile::add(Duration ran, MiB peak_memory) {
  ++samples_;
  ++buckets_[bucket_of(ran)];
  const auto weight = static_cast<std::int64_t>(std::min<std::uint64_t>(samples_, 12));
  recent_mean_ += Duration((ran.value - recent_mean_.value) / weight);
  peak_memory_ = std::max(peak_memory_, peak_memory);
}

Duration Profile::quantile(double q) const {
  const double wanted = q * static_cast<double>(samples_);
  double seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen >= wanted && buckets_[bucket] > 0) return middle_of(bucket);
  }
  return {};
}

Profile Profile::of(const Content& content) {
  Profile profile;
  profile.samples_ = content.samples;
  profile.recent_mean_ = content.recent_mean;
  profile.peak_memory_ = content.peak_memory;
  profile.buckets_ = content.buckets;
  return profile;
}

}  // namespace tutti
