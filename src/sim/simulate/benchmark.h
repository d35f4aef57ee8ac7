#pragma once

#include <string>

#include "base/result.h"
#include "core/simulation/simulation_request.h"
#include "sim/results.h"

namespace tutti {

// Runs one of the published benchmarks in its own physics: see docs/user/simulate.md.
Result<RunResult> run_benchmark(const SimulationRequest& request, const std::string& policy);

}  // namespace tutti
