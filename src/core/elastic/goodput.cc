#include "core/elastic/goodput.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "core/elastic/bounded_minimum.h"

namespace tutti {
namespace {

constexpr double kTiny = 1e-8;
constexpr int kBatches = 50;

// Rounded up, but not because of the last bit.
double ceil_tolerant(double x) {
  return std::ceil(x - kTiny);
}

enum Parameter : int {
  kCompute,
  kComputeSlope,
  kAcross,
  kAcrossSlope,
  kWithin,
  kWithinSlope,
  kOverlap,
  kParameters
};
using Point = std::vector<double>;

double beyond_two(std::uint32_t devices) {
  return std::max(static_cast<double>(devices) - 2, kTiny);
}

// The error of a model, to be minimised: how far the logarithms of computing and of step times are
// off, and a little for parameters that are far from what is usual.
class FitError {
 public:
  explicit FitError(std::span<const StepSample> samples) {
    for (const StepSample& one : samples) {
      rows_.push_back({one.nodes > 1     ? kAcross
                       : one.devices > 1 ? kWithin
                                         : kParameters,
                       static_cast<double>(one.local_batch), beyond_two(one.devices),
                       std::log(one.step_s - one.sync_s), std::log(one.step_s)});
    }
  }

  double operator()(const Point& x, Point& gradient) const {
    gradient.assign(kParameters, 0);
    Point compute_gradient(kParameters, 0);
    Point step_gradient(kParameters, 0);
    double compute_squares = 0;
    double step_squares = 0;
    for (const Row& row : rows_) {
      const double compute = x[kCompute] + x[kComputeSlope] * row.local_batch;
      const double off = std::log(compute) - row.log_compute;
      compute_squares += off * off;
      compute_gradient[kCompute] += off / compute;
      compute_gradient[kComputeSlope] += off * row.local_batch / compute;
      step_squares += add_step(row, x, compute, step_gradient);
    }
    const double n = static_cast<double>(rows_.size());
    double error = add_root(compute_squares, n, compute_gradient, gradient) +
                   add_root(step_squares, n, step_gradient, gradient);
    error += 1e-3 * (x[kOverlap] - 1) * (x[kOverlap] - 1);
    gradient[kOverlap] += 2e-3 * (x[kOverlap] - 1);
    for (const int base : {kAcross, kWithin}) {
      const double ratio = x[base + 1] / x[base];
      error += 1e-2 * ratio * ratio;
      gradient[base + 1] += 2e-2 * ratio / x[base];
      gradient[base] -= 2e-2 * ratio * ratio / x[base];
    }
    return error;
  }

 private:
  struct Row {
    int exchange;  // the first of the parameters that count; kParameters: none
    double local_batch;
    double extra_devices;
    double log_compute;
    double log_step;
  };

  static double add_step(const Row& row, const Point& x, double compute, Point& gradient) {
    const double y = x[kOverlap];
    const bool alone = row.exchange == kParameters;
    const double exchange = alone ? kTiny + kTiny * row.extra_devices
                                  : x[row.exchange] + x[row.exchange + 1] * row.extra_devices;
    const double compute_y = std::pow(compute, y);
    const double exchange_y = std::pow(exchange, y);
    const double sum = compute_y + exchange_y;
    const double off = std::log(sum) / y - row.log_step;
    const double by_compute = compute_y / compute / sum;
    gradient[kCompute] += off * by_compute;
    gradient[kComputeSlope] += off * by_compute * row.local_batch;
    if (!alone) {
      const double by_exchange = exchange_y / exchange / sum;
      gradient[row.exchange] += off * by_exchange;
      gradient[row.exchange + 1] += off * by_exchange * row.extra_devices;
    }
    gradient[kOverlap] +=
        off * ((compute_y * std::log(compute) + exchange_y * std::log(exchange)) / sum / y -
               std::log(sum) / (y * y));
    return off * off;
  }

  // Adds the gradient of the root of a mean of squares; returns the root.
  static double add_root(double squares, double n, const Point& half_gradient, Point& gradient) {
    const double root = std::sqrt(squares / n);
    if (root == 0) return 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += half_gradient[i] / n / root;
    return root;
  }

  std::vector<Row> rows_;
};

// What the samples say nothing about stays where it is.
struct Bounds {
  Point least = Point(kParameters, kTiny);
  Point most = Point(kParameters, std::numeric_limits<double>::infinity());

  void pin(int parameter, double value) { least[parameter] = most[parameter] = value; }
};

Bounds bounds_for(std::span<const StepSample> samples) {
  Bounds bounds;
  bounds.least[kOverlap] = 1;
  bounds.most[kOverlap] = 10;
  bool several_batches = false;
  bool across = false;
  bool within = false;
  bool beyond = false;
  double compute = 0;
  for (const StepSample& one : samples) {
    several_batches = several_batches || one.local_batch != samples[0].local_batch;
    across = across || one.nodes > 1;
    within = within || (one.nodes == 1 && one.devices > 1);
    beyond = beyond || one.devices > 2;
    compute += one.step_s - one.sync_s;
  }
  if (!several_batches) bounds.pin(kCompute, compute / static_cast<double>(samples.size()) / 2);
  if (!across) {
    bounds.pin(kAcross, kTiny);
    bounds.pin(kAcrossSlope, kTiny);
  }
  if (!within) {
    bounds.pin(kWithin, kTiny);
    bounds.pin(kWithinSlope, kTiny);
  }
  if (!beyond) {
    bounds.pin(kAcrossSlope, kTiny);
    bounds.pin(kWithinSlope, kTiny);
  }
  return bounds;
}

}  // namespace

double step_gain(const GradientStats& stats, double scale) {
  const double below = stats.var / scale + stats.sqr;
  return below > 0 ? (stats.var + stats.sqr) / below : 1;
}

double StepModel::exchange_s(std::uint32_t nodes, std::uint32_t devices) const {
  const double extra = beyond_two(devices);
  if (nodes > 1) return across + across_per_device * extra;
  if (devices > 1) return within + within_per_device * extra;
  return kTiny + kTiny * extra;
}

double StepModel::step_s(std::uint32_t nodes, std::uint32_t devices, double local_batch) const {
  return std::pow(
      std::pow(compute_s(local_batch), overlap) + std::pow(exchange_s(nodes, devices), overlap),
      1 / overlap);
}

StepModel fit_step_model(std::span<const StepSample> samples, double tolerance) {
  TUTTI_CHECK(!samples.empty());
  const Bounds bounds = bounds_for(samples);
  const FitError error(samples);
  const Point x = bounded_minimum(error, {.start = {0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.001},
                                          .least = bounds.least,
                                          .most = bounds.most,
                                          .tolerance = tolerance});
  StepModel model{x[kCompute], x[kComputeSlope], x[kAcross], x[kAcrossSlope],
                  x[kWithin],  x[kWithinSlope],  x[kOverlap]};
  const bool across = std::any_of(samples.begin(), samples.end(),
                                  [](const StepSample& one) { return one.nodes > 1; });
  if (!across) {
    // Nobody has seen it; it is not faster than within a node.
    model.across = std::max(model.across, 1.1 * model.within);
    model.across_per_device = std::max(model.across_per_device, 1.1 * model.within_per_device);
  }
  return model;
}

BatchChoice split_batch(double total, std::uint32_t devices, const BatchLimits& limits) {
  const double local = ceil_tolerant(total / devices);
  double accumulated = ceil_tolerant(local / limits.most_local) - 1;
  if (devices == 1 && total > limits.first) accumulated = std::max(accumulated, 1.0);
  BatchChoice choice;
  choice.accumulated = static_cast<std::uint32_t>(std::max(accumulated, 0.0));
  choice.local = static_cast<std::uint32_t>(ceil_tolerant(local / (choice.accumulated + 1)));
  return choice;
}

BatchChoice best_batch(const StepModel& model, const GradientStats& stats, std::uint32_t nodes,
                       std::uint32_t devices, const BatchLimits& limits) {
  const double least = std::log10(std::max(limits.first, limits.least_local * devices));
  const double most = std::log10(limits.most);
  const double exchange_y = std::pow(model.exchange_s(nodes, devices), model.overlap);
  BatchChoice best;
  double best_total = 0;
  for (int i = 0; i < kBatches; ++i) {
    double total = std::pow(10, least + (most - least) * i / (kBatches - 1));
    if (i == 0) total = std::max(limits.first, limits.least_local * devices);
    if (i == kBatches - 1) total = limits.most;
    const double local = total / devices;
    double accumulated = ceil_tolerant(local / limits.most_local) - 1;
    if (devices == 1 && local > limits.first + kTiny) accumulated = std::max(accumulated, 1.0);
    accumulated = std::max(accumulated, 0.0);
    const double m = ceil_tolerant(local / (accumulated + 1));
    if (m < limits.least_local || m > limits.most_local) continue;
    const double samples = devices * m * (accumulated + 1);
    if (samples == best_total) continue;
    const double compute = model.compute_s(m);
    const double step = std::pow(std::pow(compute, model.overlap) + exchange_y, 1 / model.overlap);
    const double scale = samples / limits.first;
    const double goodput =
        samples / (accumulated * compute + step) * step_gain(stats, scale) / scale;
    if (goodput <= best.goodput) continue;
    best = {static_cast<std::uint32_t>(m), static_cast<std::uint32_t>(accumulated), goodput};
    best_total = samples;
  }
  return best;
}

}  // namespace tutti
