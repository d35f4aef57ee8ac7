#include "core/elastic/learnt_speeds.h"

#include <algorithm>
#include <cmath>

namespace tutti {
namespace {

constexpr double kTolerance = 1e-5;
// A sample that is predicted this well teaches nothing.
constexpr double kWellPredicted = 0.05;
constexpr std::size_t kMostSamplesOfShape = 8;
// What nobody has tried is taken to be this much better than predicted, so that it is tried.
constexpr double kUntried = 1.25;

}  // namespace

void LearntSpeeds::set_limits(const std::string& kind, const std::string& type,
                              const BatchLimits& limits, double one_device_speed) {
  kinds_[kind].limits[type] = limits;
  kinds_[kind].types[type].one_device_speed = one_device_speed;
}

void LearntSpeeds::saw_step(const std::string& kind, const std::string& type,
                            const StepSample& sample) {
  Kind& known = kinds_[kind];
  known.most_devices = std::max(known.most_devices, sample.devices);
  OnType& here = known.types[type];
  const auto key = std::tuple(sample.nodes, sample.devices, sample.local_batch);
  const bool seen = here.samples.contains(key);
  const auto of_shape =
      std::count_if(here.samples.begin(), here.samples.end(), [&](const auto& one) {
        return one.second.nodes == sample.nodes && one.second.devices == sample.devices;
      });
  const auto off = [&] {
    const double predicted = here.model->step_s(sample.nodes, sample.devices, sample.local_batch);
    return std::abs(predicted / sample.step_s - 1);
  };
  const bool teaches = !here.model || of_shape == 0 || off() > kWellPredicted;
  if (!seen && teaches && static_cast<std::size_t>(of_shape) < kMostSamplesOfShape) {
    here.samples.emplace(key, sample);
    refit(here);
  }
  const double predicted = here.model->step_s(sample.nodes, sample.devices, sample.local_batch);
  here.corrections[{sample.nodes, sample.devices}] = sample.step_s / predicted;
}

void LearntSpeeds::refit(OnType& known) const {
  std::vector<StepSample> samples;
  for (const auto& [key, sample] : known.samples) samples.push_back(sample);
  known.model = fit_step_model(samples, kTolerance);
}

void LearntSpeeds::saw_speed(const std::string& kind, double expected, double measured) {
  if (expected <= 0 || measured <= 0) return;
  Kind& known = kinds_[kind];
  // `expected` has the calibration in it.
  const double ratio = std::clamp(measured / expected, 0.5, 2.0);
  known.calibration *= std::pow(ratio, 0.5);
}

void LearntSpeeds::saw_first_gradient(const std::string& kind, const GradientStats& stats) {
  kinds_[kind].first_gradient = stats;
}

bool LearntSpeeds::knows(const std::string& kind) const {
  const auto found = kinds_.find(kind);
  if (found == kinds_.end()) return false;
  return std::any_of(found->second.types.begin(), found->second.types.end(),
                     [](const auto& one) { return one.second.model.has_value(); });
}

std::optional<GradientStats> LearntSpeeds::first_gradient(const std::string& kind) const {
  const auto found = kinds_.find(kind);
  return found == kinds_.end() ? std::nullopt : found->second.first_gradient;
}

std::uint32_t LearntSpeeds::most_devices(const std::string& kind) const {
  const auto found = kinds_.find(kind);
  return found == kinds_.end() ? 0 : found->second.most_devices;
}

double LearntSpeeds::rate(const std::string& kind, const std::string& type, std::uint32_t nodes,
                          std::uint32_t devices, const GradientStats& stats, bool curious) const {
  const auto found = kinds_.find(kind);
  if (found == kinds_.end()) return 0;
  const Kind& known = found->second;
  const auto limits = known.limits.find(type);
  if (limits == known.limits.end()) return 0;
  const auto here = known.types.find(type);
  const OnType* source = here != known.types.end() && here->second.model ? &here->second : nullptr;
  double borrowed = 1;
  if (source == nullptr) {
    // Never seen on this type: as on another one, by what a single device of each can do.
    for (const auto& [name, other] : known.types) {
      if (!other.model || (source != nullptr && other.samples.size() <= source->samples.size()))
        continue;
      source = &other;
    }
    if (source == nullptr || source->one_device_speed <= 0) return 0;
    borrowed = here->second.one_device_speed / source->one_device_speed;
  }
  const BatchChoice best = best_batch(*source->model, stats, nodes, devices, limits->second);
  double correction = curious ? 1 / kUntried : 1;
  if (borrowed == 1) {
    const auto measured = source->corrections.find({nodes, devices});
    if (measured != source->corrections.end()) correction = measured->second;
  }
  return best.goodput / limits->second.first * borrowed / correction * known.calibration;
}

}  // namespace tutti
