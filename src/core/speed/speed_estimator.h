#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "core/speed/gaussian_fit.h"
#include "core/speed/speed_table.h"

namespace tutti {

// How fast a cell is, as far as it can be said.
struct SpeedEstimate {
  bool measured = false;  // if not, it is estimated from others
  bool fits = true;       // its memory suffices
  double seconds = 0;     // of an iteration; zero when it was measured not to fit
  // Four of five such estimates are wrong by at most this factor, up or down; 1: measured.
  double factor = 1;
  // How likely it is that it fits, from 0 to 1.
  double chance = 1;
  // It is taken to fit because it needs no more than this of each device; zero: not for that.
  MiB modest;
  bool operator==(const SpeedEstimate&) const = default;
};

// Estimates the speed of one model on devices and with sizes and batches that were not measured
// from those that were. Logarithms of seconds are a sum of what the model, the type of device,
// size, batch, devices and nodes contribute, in general and for this model or type, and of a smooth
// rest: a Gaussian process, with fixed and round parameters that were not fitted to any data.
// Whether a cell fits its memory is estimated likewise from which did. Of more devices than the
// batch has samples only as many work at a time: they are no faster than so many on one node.
//
// It is about best plans (SpeedTable::best), whatever their stages.
//
// Built once for a table and a model, then constant.
class SpeedEstimator {
 public:
  // Enough to know, and few enough to be quick; the model's own come first.
  static constexpr std::size_t kMostCells = 600;

  SpeedEstimator(const SpeedTable& table, std::string model);

  // What was measured, else the estimate; nothing when this model or this type of device was never
  // measured. `memory` is that of a device; zero: not known.
  std::optional<SpeedEstimate> estimate(const SpeedCell& cell, MiB memory = {}) const;

  // What the others say of a measured cell of this model.
  struct Witness {
    SpeedCell cell;
    Speed measured;
    std::optional<SpeedEstimate> estimate;  // nothing: no other was measured
  };
  std::vector<Witness> leave_one_out() const;

 private:
  SpeedEstimate estimate_of(const Guess& seconds, const Guess& fit, const SpeedCell& cell) const;
  // With the table's name of its type.
  SpeedEstimate estimate_as(SpeedCell cell, const std::string& type) const;

  const std::string model_;
  SpeedTable table_;             // what the estimates rest on
  std::vector<SpeedCell> all_;   // of the table
  std::vector<SpeedCell> fast_;  // those of them that fit
  double level_ = 0;             // the mean of what is estimated
  std::unique_ptr<GaussianFit> seconds_;
  std::unique_ptr<GaussianFit> fits_;
};

// The least memory of each device that training takes: weights, gradients and the state of the
// optimiser (16 bytes a parameter, as mixed precision with Adam has them), spread over its stages;
// if those are not definite, over all devices.
MiB least_memory(const SpeedCell& cell);

// Whether a failure that the table has under this name says nothing of a device of the cell's type
// with so much memory: the name leaves open how large the devices were, and the cell needs little.
bool is_of_smaller(const SpeedCell& cell, const std::string& name, MiB memory);

// How wrong estimates are where the truth is known: every measured cell against what all others say
// of it.
struct SpeedCheck {
  std::string model;      // empty: all
  std::size_t cells = 0;  // that were measured and fit
  double median_error = 0;
  double p90_error = 0;
  double inside = 0;             // part of them that lie within the factor that was told
  std::size_t unfit = 0;         // that did not fit
  std::size_t unfit_found = 0;   // of these, estimated not to
  std::size_t false_alarms = 0;  // that fit, and were estimated not to
  double memory_accuracy() const;
};
// One for each model, then one for all of them.
std::vector<SpeedCheck> check_speeds(const SpeedTable& table);
// Likewise, but all cells of a size of a model are left out at once: nothing of that size was
// measured, with whatever batch and devices. Of all models together.
SpeedCheck check_new_sizes(const SpeedTable& table);

}  // namespace tutti
