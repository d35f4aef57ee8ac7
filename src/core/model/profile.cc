#include "core/model/profile.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/model/node.h"

namespace tutti {
namespace {

constexpr double kSmallest = 100.0;  // microseconds
constexpr double kStepsPerOctave = 4.0;

constexpr std::size_t kEnoughPeaks = 3;
constexpr double kFirstMargin = 0.10;
constexpr double kLeastMargin = 0.02;
constexpr double kMostMargin = 0.25;
constexpr double kLeastMarginMiB = 64.0;

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

MiB DeviceProfile::peak() const {
  return peaks.empty() ? MiB() : *std::max_element(peaks.begin(), peaks.end());
}

MiB DeviceProfile::need() const {
  if (peaks.empty()) return floor;
  const auto top = static_cast<double>(peak().value);
  double margin = kFirstMargin * top;
  if (peaks.size() >= kEnoughPeaks) {
    double mean = 0;
    for (const MiB one : peaks) mean += static_cast<double>(one.value);
    mean /= static_cast<double>(peaks.size());
    double squares = 0;
    for (const MiB one : peaks)
      squares += (static_cast<double>(one.value) - mean) * (static_cast<double>(one.value) - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(peaks.size() - 1));
    margin = std::clamp(2 * deviation, kLeastMargin * top, kMostMargin * top);
  }
  const MiB wanted(std::llround(top + std::max(margin, kLeastMarginMiB)));
  return std::max(wanted, floor);
}

Configuration DeviceProfile::devices() const {
  const std::size_t mark = type.find('x');
  std::uint32_t count = 0;
  if (mark == type.npos) return {type, 1};
  const auto [end, error] = std::from_chars(type.data(), type.data() + mark, count);
  if (error != std::errc() || end != type.data() + mark) return {type, 1};
  return {type.substr(mark + 1), count};
}

void Profile::add(Duration ran, MiB peak_memory) {
  ++samples_;
  ++buckets_[bucket_of(ran)];
  const auto weight = static_cast<std::int64_t>(std::min<std::uint64_t>(samples_, 12));
  recent_mean_ += Duration((ran.value - recent_mean_.value) / weight);
  peak_memory_ = std::max(peak_memory_, peak_memory);
}

DeviceProfile& Profile::device(const std::string& type) {
  const auto it = std::find_if(devices_.begin(), devices_.end(),
                               [&](const DeviceProfile& one) { return one.type == type; });
  if (it != devices_.end()) return *it;
  devices_.push_back({.type = type});
  return devices_.back();
}

void Profile::add_device(const std::string& type, MiB peak, MilliGpu share, bool preallocates) {
  DeviceProfile& one = device(type);
  ++one.samples;
  if (one.peaks.size() == DeviceProfile::kRecent) one.peaks.erase(one.peaks.begin());
  one.peaks.push_back(peak);
  const auto weight = static_cast<std::int64_t>(std::min<std::uint32_t>(one.samples, 12));
  one.share += MilliGpu((share.value - one.share.value) / weight);
  one.preallocates = preallocates;
}

void Profile::add_time(const std::string& type, std::uint32_t count, Duration ran) {
  auto it = std::find_if(times_.begin(), times_.end(), [&](const DeviceTime& one) {
    return one.type == type && one.count == count;
  });
  if (it == times_.end() && times_.size() == kMostTimes) return;
  if (it == times_.end()) it = times_.insert(it, {.type = type, .count = count});
  ++it->samples;
  const auto weight = static_cast<std::int64_t>(std::min<std::uint32_t>(it->samples, 12));
  it->mean += Duration((ran.value - it->mean.value) / weight);
}

Duration Profile::time_on(std::string_view type, std::uint32_t count) const {
  Duration shortest;
  for (const DeviceTime& one : times_) {
    if (one.count != count || !is_of_type(one.type, type)) continue;
    if (shortest.value == 0 || one.mean < shortest) shortest = one.mean;
  }
  return shortest;
}

void Profile::raise_device(const std::string& type, MiB floor, std::uint32_t count) {
  DeviceProfile& one = device(count > 1 ? std::to_string(count) + "x" + type : type);
  one.floor = std::max(one.floor, floor);
}

bool Profile::measured() const {
  return std::any_of(devices_.begin(), devices_.end(),
                     [](const DeviceProfile& one) { return one.samples > 0; });
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
  profile.devices_ = content.devices;
  profile.times_ = content.times;
  return profile;
}

}  // namespace tutti
