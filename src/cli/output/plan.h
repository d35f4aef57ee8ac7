#pragma once

#include <boost/json/fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/screen.h"
#include "core/speed/plan_cells.h"
#include "core/speed/speed_estimator.h"
#include "core/speed/speed_table.h"

namespace tutti {

// The cells of one model run, and the one of them that is taken (by_preference).
struct CellPlan {
  ModelRun run;
  std::vector<PlannedCell> cells;
  std::optional<std::size_t> chosen;  // none: nothing is known of any, or none fits
  std::string why;                    // a sentence
};
CellPlan plan_of(const ModelRun& run, std::vector<PlannedCell> cells);

// The table and the chart of `plan`.
std::string render_cells(const CellPlan& plan, const Screen& screen);
boost::json::object plan_to_json(const CellPlan& plan);

// The table of `profile ls --speeds`.
std::string render_speeds(const SpeedTable& table, const Screen& screen);

// What `profile check` tells.
// `sizes`: check_new_sizes().
std::string render_checks(const std::vector<SpeedCheck>& checks, const SpeedCheck& sizes,
                          const Screen& screen);
boost::json::object checks_to_json(const std::vector<SpeedCheck>& checks, const SpeedCheck& sizes);

// "4 × A100", "2 nodes of 4 × A100".
std::string shape_text(const DeviceShape& shape);

}  // namespace tutti
