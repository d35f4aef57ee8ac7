#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "core/speed/speed_estimator.h"
#include "core/speed/speed_table.h"
#include "core/speed/stage_cells.h"

namespace tutti {

// "4xA100,2x8xV100": four A100 on one node, and two nodes with eight V100 each.
Result<std::vector<DeviceShape>> parse_device_shapes(std::string_view text);

// Every shape that a job could have of these devices: on one node 1, 2, 4 ... and all of its
// devices; whole nodes in the same steps. In order, each once.
std::vector<DeviceShape> shapes_within(std::span<const DeviceShape> available);
// Every shape that anything was measured in.
std::vector<DeviceShape> shapes_in(const SpeedTable& table);

// The memory that the name of a type tells: "A100-80G". Of usual types without a size ("A100") the
// largest that is sold; zero: not known.
MiB memory_in_type(std::string_view type);

// These shapes with every number of stages (staged_cells).
std::vector<PlannedCell> plan_cells(const SpeedTable& table, const ModelRun& run,
                                    std::span<const DeviceShape> shapes);

// The rule by which one of several is taken: the fastest first, of equals the one that is listed
// first; then those of which nothing is known, in their order; then those that probably do not fit.
// What was measured not to fit is left out, unless that is all there is. Gives positions.
std::vector<std::size_t> by_preference(std::span<const std::optional<SpeedEstimate>> speeds);

}  // namespace tutti
