#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "core/speed/speed_estimator.h"
#include "core/speed/speed_table.h"

namespace tutti {

// How the stages of a cell came to its time.
enum class StageBasis : std::uint8_t {
  kKnown = 0,     // they were measured, there is no other number, or none is said
  kBestPlan = 1,  // the time is the best plan's; that it has these stages is a guess
  kModel = 2,  // the time follows from the best plan's by relative_time(); its error is not known
};

// A cell, and how fast it is; no estimate: nothing like it was measured.
struct PlannedCell {
  SpeedCell cell;
  std::optional<SpeedEstimate> estimate;
  StageBasis basis = StageBasis::kKnown;
  // Devices times seconds of an iteration; zero without an estimate.
  double cost() const;
};

// What an iteration takes with the stages of a cell, in units of what its devices compute. Devices
// that are no stages of one pipeline are replicas of it, which share the batch:
//
//   1 + (stages - 1) / micro-batches                  filling and draining the pipeline
//     + exchange * (replicas - 1) / replicas / stages   of the gradients between replicas
//
// with 16 micro-batches, or as many as a replica has samples, and an exchange that takes as long as
// computing eight samples on each device. Round numbers that were not fitted to any data.
double relative_time(const SpeedCell& cell);

// The cell with each of its numbers of stages, in their order: those that were measured, and of
// those where every replica has a sample 1, 2, 4 ... as far as they divide the devices, and as many
// as there are devices. `best` is what is known of its best plan, which is the fastest of them;
// what was not measured follows by relative_time().
// `memory` is that of a device; zero: not known. Nothing is known of the best plan: the cell alone.
std::vector<PlannedCell> staged_cells(const SpeedTable& table, const SpeedCell& whole,
                                      const std::optional<SpeedEstimate>& best, MiB memory);

}  // namespace tutti
