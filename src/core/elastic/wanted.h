#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/elastic/view.h"

namespace tutti {

// The devices that are left while a policy hands them out, pool by pool.
class FreeDevices {
 public:
  explicit FreeDevices(const ElasticSnapshot& snapshot);

  bool fits(const Shape& shape) const { return shape.devices <= free_[shape.pool]; }
  // As fits(), for a job that would leave what it has.
  bool fits_instead(const Shape& shape, const std::optional<Shape>& left) const;
  void take(const Shape& shape);
  void give_back(const Shape& shape) { free_[shape.pool] += shape.devices; }
  std::uint32_t of(std::uint32_t pool) const { return free_[pool]; }

  // Gives running jobs what they have: those that are being started only, or all.
  void keep_starting(const ElasticSnapshot& snapshot, Choices& choices);
  void keep_running(const ElasticSnapshot& snapshot, Choices& choices);

 private:
  std::vector<std::uint32_t> free_;
};

// The option that a job's user asked for: so many devices of the wanted pool, or of the pool where
// it is fastest. If it does not run with so many, the nearest smaller number, or else the nearest
// larger one. None: the pool has no option for it.
std::optional<std::size_t> wanted_option(const ElasticJob& job);

// The same in one pool.
std::optional<std::size_t> wanted_option(const ElasticJob& job, std::uint32_t pool);

// Seconds until a job ends if it runs as that option from now on; a start counts. `unknown` is the
// time that a job of unknown length takes. Zero without an option.
double seconds_left(const ElasticJob& job, std::optional<std::size_t> option, double unknown);

// The fastest rate of all options; zero without any.
double best_rate(const ElasticJob& job);

}  // namespace tutti
