#include <algorithm>
#include <cmath>
#include <set>

#include "core/speed/speed_estimator.h"

namespace tutti {
namespace {

struct CheckTally {
  SpeedCheck check;
  std::vector<double> errors;
  std::size_t inside = 0;

  void add(const SpeedEstimator::Witness& witness) {
    if (!witness.estimate) return;
    const SpeedEstimate& estimate = *witness.estimate;
    if (!witness.measured.fits()) {
      ++check.unfit;
      if (!estimate.fits) ++check.unfit_found;
      return;
    }
    if (!estimate.fits) ++check.false_alarms;
    const double ratio = estimate.seconds / witness.measured.seconds;
    errors.push_back(std::abs(ratio - 1));
    if (std::max(ratio, 1 / ratio) <= estimate.factor) ++inside;
  }

  SpeedCheck finish() {
    std::sort(errors.begin(), errors.end());
    check.cells = errors.size();
    if (errors.empty()) return check;
    check.median_error = errors[errors.size() / 2];
    check.p90_error = errors[errors.size() * 9 / 10];
    check.inside = static_cast<double>(inside) / static_cast<double>(errors.size());
    return check;
  }
};

}  // namespace

double SpeedCheck::memory_accuracy() const {
  const std::size_t total = cells + unfit;
  if (total == 0) return 0;
  return static_cast<double>(cells - false_alarms + unfit_found) / static_cast<double>(total);
}

SpeedCheck check_new_sizes(const SpeedTable& all) {
  const SpeedTable table = all.best();
  std::set<std::pair<std::string, std::uint64_t>> sizes;
  for (const auto& [cell, speed] : table.entries())
    sizes.emplace(cell.run.name, cell.run.parameters);
  CheckTally tally;
  for (const auto& [model, parameters] : sizes) {
    SpeedTable others;
    std::vector<SpeedEstimator::Witness> left_out;
    for (const auto& [cell, speed] : table.entries()) {
      if (cell.run.name == model && cell.run.parameters == parameters)
        left_out.push_back({cell, speed, std::nullopt});
      else
        others.set(cell, speed);
    }
    const SpeedEstimator estimator(others, model);
    for (SpeedEstimator::Witness& witness : left_out) {
      witness.estimate = estimator.estimate(witness.cell);
      tally.add(witness);
    }
  }
  return tally.finish();
}

std::vector<SpeedCheck> check_speeds(const SpeedTable& table) {
  std::vector<SpeedCheck> checks;
  CheckTally all;
  for (const std::string& model : table.models()) {
    CheckTally tally;
    tally.check.model = model;
    for (const auto& witness : SpeedEstimator(table, model).leave_one_out()) {
      tally.add(witness);
      all.add(witness);
    }
    checks.push_back(tally.finish());
  }
  checks.push_back(all.finish());
  return checks;
}

}  // namespace tutti
