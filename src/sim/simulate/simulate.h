#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/simulation/simulation_request.h"

namespace tutti {

// Reads what the home has run since then (zero: ever).
using ReadRecording = Result<Recording> (*)(const std::string& home, TimePoint since);

// `tutti simulate`: reads the work, runs it once for each policy, writes the page and the JSON if
// they are wanted, and returns what is shown of each run.
Result<std::vector<RunFigures>> simulate(const SimulationRequest& request,
                                         const SimulationSinks& sinks,
                                         ReadRecording read_recording);

}  // namespace tutti
