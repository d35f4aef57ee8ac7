#pragma once

#include "core/simulation/simulation_request.h"
#include "sim/results.h"

namespace tutti {

// What is shown of a run: the same figures in the same order for all of them, so that they can be
// compared.
RunFigures figures_of(const RunResult& run, const Summary& summary);

}  // namespace tutti
