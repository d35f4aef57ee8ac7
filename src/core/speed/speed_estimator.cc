#include "core/speed/speed_estimator.h"

#include <algorithm>
#include <cmath>

#include "core/model/node.h"

namespace tutti {
namespace {

// Four of five values of a normal distribution are within so many deviations of its mean.
constexpr double kFourOfFive = 1.2816;
// What measurements of one cell differ by, as a variance of logarithms.
constexpr double kNoise = 0.003;
// Likewise of fitting (+1) or not (-1).
constexpr double kFitNoise = 0.1;
// Bytes of weights, gradients and optimiser state.
constexpr std::uint64_t kBytesPerParameter = 16;

// A cell as the covariances see it: logarithms, with usual values in the middle.
struct SpeedPoint {
  const std::string* model = nullptr;
  const std::string* type = nullptr;
  double size = 0;
  double batch = 0;
  double devices = 0;
  double nodes = 0;
};

SpeedPoint point_of(const SpeedCell& cell) {
  return {&cell.run.name,
          &cell.shape.type,
          std::log(static_cast<double>(cell.run.parameters) / 2e9),
          std::log(static_cast<double>(cell.run.batch) / 256),
          std::log(static_cast<double>(cell.shape.devices()) / 4),
          std::log(static_cast<double>(cell.shape.nodes))};
}

// Twice the size or batch takes twice the time, twice the devices half of it: what remains is
// small.
double expected_log(const SpeedPoint& point) {
  return point.size + point.batch - point.devices;
}

double squared(double x) {
  return x * x;
}

// Variances of what contributes to the logarithm of the seconds.
double time_covariance(const SpeedPoint& a, const SpeedPoint& b) {
  const bool model = *a.model == *b.model;
  const bool type = *a.type == *b.type;
  const double size = a.size * b.size;
  const double batch = a.batch * b.batch;
  const double devices = a.devices * b.devices;
  const double nodes = a.nodes * b.nodes;
  const double slopes = 0.1 * size + 0.05 * batch + 0.1 * devices + 0.05 * nodes;
  double covariance = 1 + slopes;
  if (model) covariance += 1 + slopes;
  if (type) covariance += 0.5 + 0.03 * devices + 0.03 * nodes;
  if (model && type) covariance += 0.1;
  if (!model) return covariance;
  const double distance = squared(a.size - b.size) + squared(a.batch - b.batch) +
                          squared(a.devices - b.devices) + squared(a.nodes - b.nodes);
  return covariance + 0.1 * (type ? 1 : 0.3) * std::exp(-distance / 2);
}

// Likewise of fitting: mostly by neighbours of the same model, nearer in size and devices than in
// batch.
double fit_covariance(const SpeedPoint& a, const SpeedPoint& b) {
  const bool model = *a.model == *b.model;
  const bool type = *a.type == *b.type;
  const double slopes =
      0.1 * a.size * b.size + 0.01 * a.batch * b.batch + 0.1 * a.devices * b.devices;
  double covariance = 1 + slopes + (type ? 0.1 : 0);
  if (!model) return covariance;
  covariance += 0.1 + slopes + (type ? 0.1 : 0);
  const double distance = squared((a.size - b.size) / 0.7) + squared((a.batch - b.batch) / 1.5) +
                          squared((a.devices - b.devices) / 0.7) + squared(a.nodes - b.nodes);
  return covariance + (type ? 1 : 0.3) * std::exp(-distance / 2);
}

using Covariance = double (*)(const SpeedPoint&, const SpeedPoint&);

std::unique_ptr<GaussianFit> fit_of(const std::vector<SpeedCell>& cells,
                                    const std::vector<double>& values, Covariance covariance,
                                    double noise) {
  std::vector<SpeedPoint> points;
  for (const SpeedCell& cell : cells) points.push_back(point_of(cell));
  std::vector<double> matrix(points.size() * points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < points.size(); ++j)
      matrix[i * points.size() + j] = covariance(points[i], points[j]) + (i == j ? noise : 0);
  }
  return std::make_unique<GaussianFit>(std::move(matrix), values);
}

Guess guess_at(const GaussianFit& fit, const std::vector<SpeedCell>& cells, const SpeedCell& cell,
               Covariance covariance, double noise) {
  const SpeedPoint point = point_of(cell);
  std::vector<double> covariances;
  covariances.reserve(cells.size());
  for (const SpeedCell& other : cells) covariances.push_back(covariance(point, point_of(other)));
  return fit.at(covariances, covariance(point, point) + noise);
}

// Activations and the like take about as much again as weights and optimiser: what needs less than
// this is not what fails for want of memory.
MiB modest_part(MiB memory) {
  return MiB(memory.value / 2);
}

// The part of a normal distribution that is above zero.
double above_zero(const Guess& guess) {
  return 0.5 * std::erfc(-guess.mean / std::max(guess.deviation, 1e-9) / std::sqrt(2.0));
}

// At most kMostCells: the model's own, then others spread evenly over the rest.
SpeedTable part_for(const SpeedTable& table, const std::string& model) {
  if (table.size() <= SpeedEstimator::kMostCells) return table;
  SpeedTable part;
  std::size_t others = 0;
  for (const auto& [cell, speed] : table.entries()) {
    if (cell.run.name != model)
      ++others;
    else if (part.size() < SpeedEstimator::kMostCells)
      part.set(cell, speed);
  }
  const std::size_t room = SpeedEstimator::kMostCells - part.size();
  const std::size_t step = room == 0 ? others + 1 : others / room + 1;
  std::size_t position = 0;
  for (const auto& [cell, speed] : table.entries())
    if (cell.run.name != model && position++ % step == step - 1) part.set(cell, speed);
  return part;
}

}  // namespace

SpeedEstimator::SpeedEstimator(const SpeedTable& table, std::string model)
    : model_(std::move(model)), table_(part_for(table.best(), model_)) {
  std::vector<double> logs;
  std::vector<double> fits;
  for (const auto& [cell, speed] : table_.entries()) {
    all_.push_back(cell);
    fits.push_back(speed.fits() ? 1 : -1);
    if (!speed.fits()) continue;
    fast_.push_back(cell);
    logs.push_back(std::log(speed.seconds) - expected_log(point_of(cell)));
    level_ += logs.back();
  }
  if (!logs.empty()) level_ /= static_cast<double>(logs.size());
  for (double& log : logs) log -= level_;
  seconds_ = fit_of(fast_, logs, time_covariance, kNoise);
  fits_ = fit_of(all_, fits, fit_covariance, kFitNoise);
}

SpeedEstimate SpeedEstimator::estimate_of(const Guess& seconds, const Guess& fit,
                                          const SpeedCell& cell) const {
  SpeedEstimate estimate;
  estimate.seconds = std::exp(seconds.mean + level_ + expected_log(point_of(cell)));
  estimate.factor = std::exp(kFourOfFive * seconds.deviation);
  estimate.chance = above_zero(fit);
  estimate.fits = fit.mean > 0;
  return estimate;
}

SpeedEstimate SpeedEstimator::estimate_as(SpeedCell cell, const std::string& type) const {
  cell.shape.type = type;
  return estimate_of(guess_at(*seconds_, fast_, cell, time_covariance, kNoise),
                     guess_at(*fits_, all_, cell, fit_covariance, 0), cell);
}

std::optional<SpeedEstimate> SpeedEstimator::estimate(const SpeedCell& cell, MiB memory) const {
  const SpeedCell whole{cell.run, cell.shape};
  const Speed* speed = table_.find(whole);
  if (speed != nullptr &&
      !(!speed->fits() && is_of_smaller(whole, table_.name_in(whole), memory))) {
    return SpeedEstimate{true, speed->fits(), speed->seconds, 1, speed->fits() ? 1.0 : 0.0};
  }
  const auto of_model = [&](const SpeedCell& one) { return one.run.name == cell.run.name; };
  const std::vector<std::string> names = table_.names_of(cell.shape.type);
  if (names.empty() || std::none_of(fast_.begin(), fast_.end(), of_model)) return std::nullopt;
  SpeedEstimate estimate = estimate_as(whole, names.front());
  const std::string* name = &names.front();
  // Another of the type's names may have seen more of the model.
  for (std::size_t i = 1; i < names.size(); ++i) {
    const SpeedEstimate other = estimate_as(whole, names[i]);
    if (other.factor >= estimate.factor) continue;
    estimate = other;
    name = &names[i];
  }
  if (!estimate.fits && is_of_smaller(whole, *name, memory)) {
    estimate.fits = true;
    estimate.chance = 0.5;
    estimate.modest = modest_part(memory);
  }
  if (cell.run.batch < cell.shape.devices()) {
    const auto samples = static_cast<std::uint32_t>(cell.run.batch);
    const auto busy = this->estimate({cell.run, {cell.shape.type, 1, samples}});
    estimate.factor = std::max(estimate.factor, busy->factor);
    estimate.seconds = std::max(estimate.seconds, busy->seconds);
  }
  if (memory.value > 0 && least_memory(cell) > memory) {
    estimate.fits = false;
    estimate.chance = 0;
  }
  return estimate;
}

std::vector<SpeedEstimator::Witness> SpeedEstimator::leave_one_out() const {
  const std::vector<Guess> seconds = seconds_->leave_one_out();
  const std::vector<Guess> fits = fits_->leave_one_out();
  std::vector<Witness> witnesses;
  std::size_t fast = 0;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Speed measured = *table_.find(all_[i]);
    const Guess unknown;
    const Guess& guess = measured.fits() ? seconds[fast++] : unknown;
    if (all_[i].run.name != model_) continue;
    Witness witness{all_[i], measured, std::nullopt};
    if (all_.size() > 1) witness.estimate = estimate_of(guess, fits[i], all_[i]);
    witnesses.push_back(std::move(witness));
  }
  return witnesses;
}

bool is_of_smaller(const SpeedCell& cell, const std::string& name, MiB memory) {
  return name.size() < cell.shape.type.size() && is_of_type(cell.shape.type, name) &&
         least_memory(cell) <= modest_part(memory);
}

MiB least_memory(const SpeedCell& cell) {
  const std::uint32_t parts = cell.stages == 0 ? cell.shape.devices() : cell.stages;
  const std::uint64_t bytes = cell.run.parameters * kBytesPerParameter / parts;
  return MiB(static_cast<std::int64_t>(bytes >> 20));
}

}  // namespace tutti
