#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/elastic/goodput.h"
#include "core/elastic/view.h"

namespace tutti {

// How fast kinds of training jobs are in shapes in which nobody has run them: learnt from their
// steps. Jobs of a kind share what is known, so that only the first one has to find out. A value.
class LearntSpeeds {
 public:
  // Jobs of the kind can use these batches on devices of the type.
  void set_limits(const std::string& kind, const std::string& type, const BatchLimits& limits,
                  double one_device_speed);

  void saw_step(const std::string& kind, const std::string& type, const StepSample& sample);
  // Progress per second of a job against what was expected of it.
  void saw_speed(const std::string& kind, double expected, double measured);
  // The gradient when a job of the kind begins, as jobs that begin are expected to have it.
  void saw_first_gradient(const std::string& kind, const GradientStats& stats);

  bool knows(const std::string& kind) const;
  std::optional<GradientStats> first_gradient(const std::string& kind) const;
  // The most devices that a job of the kind was seen on.
  std::uint32_t most_devices(const std::string& kind) const;
  // Steps of the first batch per second, as far as the model and the corrections tell; zero: it
  // cannot run like that, or nothing is known of the kind. `curious`: what was never tried is taken
  // to be a little better, so that it is.
  double rate(const std::string& kind, const std::string& type, std::uint32_t nodes,
              std::uint32_t devices, const GradientStats& stats, bool curious) const;

 private:
  // What is known of a kind on one type of device.
  struct OnType {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, StepSample> samples;
    std::optional<StepModel> model;
    // Measured by predicted step time, for each number of nodes and devices that it ran on.
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> corrections;
    double one_device_speed = 0;  // as the type is known to be; only ratios between types count
  };
  struct Kind {
    std::map<std::string, OnType> types;
    std::map<std::string, BatchLimits> limits;
    std::optional<GradientStats> first_gradient;
    double calibration = 1;
    std::uint32_t most_devices = 0;
  };
  void refit(OnType& known) const;
  std::map<std::string, Kind> kinds_;
};

}  // namespace tutti
