#include "core/speed/stage_cells.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tutti {
namespace {

constexpr double kMicroBatches = 16;
constexpr double kExchangedSamples = 8;
// What was not measured is no rival of what was: it is at least so much slower.
constexpr double kBehindMeasured = 1.01;

// `shape` is the cell's, by the table's name of its type.
std::set<std::uint32_t> stages_of(const SpeedTable& table, const SpeedCell& whole,
                                  const DeviceShape& shape) {
  const std::uint32_t devices = whole.shape.devices();
  std::set<std::uint32_t> stages = {devices};
  for (std::uint32_t count = 1; devices % count == 0; count *= 2) stages.insert(count);
  for (const auto& [cell, speed] : table.entries())
    if (cell.run == whole.run && cell.shape == shape && cell.stages > 0) stages.insert(cell.stages);
  return stages;
}

// Whether every replica of the pipeline has a sample.
bool can_run(const SpeedCell& cell) {
  return cell.run.batch * cell.stages >= cell.shape.devices();
}

// Each number of stages, with what was measured of it. What ran can run, whatever its plan was.
std::vector<PlannedCell> measured_cells(const SpeedTable& table, const SpeedCell& whole,
                                        MiB memory) {
  std::vector<PlannedCell> cells;
  DeviceShape shape = whole.shape;
  shape.type = table.name_in(whole);
  for (const std::uint32_t stages : stages_of(table, whole, shape)) {
    PlannedCell one{{whole.run, whole.shape, stages}, std::nullopt};
    const auto known = table.entries().find({whole.run, shape, stages});
    if (known != table.entries().end() &&
        (known->second.fits() || !is_of_smaller(one.cell, shape.type, memory))) {
      const Speed& speed = known->second;
      one.estimate = {true, speed.fits(), speed.seconds, 1, speed.fits() ? 1.0 : 0.0};
    }
    if (one.estimate || can_run(one.cell)) cells.push_back(std::move(one));
  }
  return cells;
}

bool has_room(const SpeedCell& cell, MiB memory) {
  return memory.value == 0 || least_memory(cell) <= memory;
}

// The one whose time is that of the best plan: if it was measured, that one; else the fastest by
// the model of those that have room, or the one that needs least. The end: all were measured, and
// are slower.
std::vector<PlannedCell>::iterator best_of(std::vector<PlannedCell>& cells,
                                           const SpeedEstimate& best, MiB memory) {
  auto found = std::find_if(cells.begin(), cells.end(), [&](const PlannedCell& one) {
    return one.estimate && one.estimate->fits && best.fits && one.estimate->seconds <= best.seconds;
  });
  if (found != cells.end()) return found;
  // Those without room come behind the others, by what they need.
  const auto order = [&](const PlannedCell& one) {
    const bool fits = has_room(one.cell, memory);
    return std::pair(
        !fits, fits ? relative_time(one.cell) : static_cast<double>(least_memory(one.cell).value));
  };
  for (auto one = cells.begin(); one != cells.end(); ++one)
    if (!one->estimate && (found == cells.end() || order(*one) < order(*found))) found = one;
  return found;
}

SpeedEstimate scaled(const SpeedEstimate& best, double ratio, bool fits) {
  SpeedEstimate estimate = best;
  estimate.measured = false;
  estimate.seconds *= ratio;
  if (!fits) {
    estimate.fits = false;
    estimate.chance = 0;
  }
  return estimate;
}

}  // namespace

double PlannedCell::cost() const {
  return estimate ? estimate->seconds * cell.shape.devices() : 0;
}

double relative_time(const SpeedCell& cell) {
  const double devices = cell.shape.devices();
  const double stages = cell.stages;
  const double replicas = devices / stages;
  const double batch = static_cast<double>(cell.run.batch);
  const double micro_batches = std::clamp(batch / replicas, 1.0, kMicroBatches);
  const double exchange = kExchangedSamples * devices / batch;
  return 1 + (stages - 1) / micro_batches + exchange * (replicas - 1) / replicas / stages;
}

std::vector<PlannedCell> staged_cells(const SpeedTable& table, const SpeedCell& whole,
                                      const std::optional<SpeedEstimate>& best, MiB memory) {
  if (!best) return {{whole, best}};
  std::vector<PlannedCell> cells = measured_cells(table, whole, memory);
  const MiB limit = best->modest.value > 0 ? best->modest : memory;
  const auto first = best_of(cells, *best, limit);
  // Nothing is left that the best plan could have: it is shown beside them.
  if (first == cells.end()) {
    cells.insert(cells.begin(), {whole, best});
    return cells;
  }
  const bool was_measured = first->estimate.has_value();
  const double unit = relative_time(first->cell);
  if (!was_measured && whole.shape.devices() > 1) first->basis = StageBasis::kBestPlan;
  first->estimate = best;
  for (PlannedCell& one : cells) {
    if (one.estimate) continue;
    const double ratio = relative_time(one.cell) / unit;
    one.basis = StageBasis::kModel;
    one.estimate = best->measured && !best->fits
                       ? *best
                       : scaled(*best, was_measured ? std::max(ratio, kBehindMeasured) : ratio,
                                has_room(one.cell, limit));
  }
  return cells;
}

}  // namespace tutti
