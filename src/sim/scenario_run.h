#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/scenario.h"

namespace tutti {

// Plays a scenario on a new simulation. Returns what did not come true, each as "FILE:LINE: …";
// empty: all of it did. An Error is about the scenario itself, such as an unknown option.
Result<std::vector<std::string>> run_scenario(const Scenario& scenario);

// Reads and plays a file.
Result<std::vector<std::string>> run_scenario_file(const std::string& path);

}  // namespace tutti
