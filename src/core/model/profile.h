#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "core/model/request.h"

namespace tutti {

// What was measured of a kind on one type of device. A plain record. The more devices a run has,
// the less it needs of each: what was too little with several is kept apart, as a type of its own.
struct DeviceProfile {
  static constexpr std::size_t kRecent = 16;
  std::string type;           // such as "A100-80G"; of runs that had two of them "2xA100-80G"
  std::uint32_t samples = 0;  // runs that were measured
  std::vector<MiB> peaks;     // of the last kRecent runs, the newest last
  MilliGpu share;             // mean use of its compute over the last dozen runs
  MiB floor;                  // it ran out of memory with less than this
  bool preallocates = false;  // takes nearly all memory at its start, whatever it needs
  bool operator==(const DeviceProfile&) const = default;

  MiB peak() const;
  // What to reserve for the next run: the highest recent peak with a margin that follows their
  // spread (a tenth while there are fewer than three), and no less than the floor.
  MiB need() const;
  // What the name of the type says: how many devices, and each one's type.
  Configuration devices() const;
};

// How long runs of a kind take on so many devices of one type. A plain record.
struct DeviceTime {
  std::string type;           // such as "A100-80G"
  std::uint32_t count = 0;    // of devices
  std::uint32_t samples = 0;  // runs that ended well
  Duration mean;              // over the last dozen
  bool operator==(const DeviceTime&) const = default;
};

// What was measured for one kind of job: how long its attempts ran and how much memory they used.
// A histogram in steps of a quarter octave, from 100 microseconds up, so that merging and updating
// are exact and its size is fixed; and beside it, device memory and use by type of device.
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

  // A run on a device of this type was measured.
  void add_device(const std::string& type, MiB peak, MilliGpu share, bool preallocates);
  // A run on so many devices of this type ended well.
  void add_time(const std::string& type, std::uint32_t count, Duration ran);
  // How long runs on so many devices take, on that type or a size of it; zero: not known.
  Duration time_on(std::string_view type, std::uint32_t count) const;
  // In the order in which they were met, at most kMostTimes.
  static constexpr std::size_t kMostTimes = 64;
  const std::vector<DeviceTime>& times() const { return times_; }
  // A run on so many devices of this type ran out of memory with less than `floor` of each.
  void raise_device(const std::string& type, MiB floor, std::uint32_t count = 1);
  // By type, in the order in which they were met.
  const std::vector<DeviceProfile>& devices() const { return devices_; }
  // Whether a run on any device was measured.
  bool measured() const;

  // For the store: the exact content.
  struct Content {
    std::uint64_t samples = 0;
    Duration recent_mean;
    MiB peak_memory;
    std::array<std::uint32_t, kBuckets> buckets{};
    std::vector<DeviceProfile> devices;
    std::vector<DeviceTime> times;
  };
  Content content() const {
    return {samples_, recent_mean_, peak_memory_, buckets_, devices_, times_};
  }
  static Profile of(const Content& content);
  bool operator==(const Profile&) const = default;

 private:
  std::uint64_t samples_ = 0;
  Duration recent_mean_;
  MiB peak_memory_;
  std::array<std::uint32_t, kBuckets> buckets_{};
  std::vector<DeviceProfile> devices_;
  std::vector<DeviceTime> times_;

  DeviceProfile& device(const std::string& type);
};

}  // namespace tutti
