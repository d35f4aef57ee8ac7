#pragma once

#include <string>
#include <vector>

#include "cli/output/screen.h"
#include "core/simulation/simulation_request.h"

namespace tutti {

// The figures of simulated runs, one column for each run. Of several the best value of each line is
// marked with a star.
std::string render_simulation(const std::vector<RunFigures>& runs, const Screen& screen);

// A figure as text, with its unit: "1h30m", "87.5 %", "2.41".
std::string figure_text(const Figure& figure);

}  // namespace tutti
