#pragma once

#include <memory>
#include <string>

#include "core/simulation/simulation_request.h"
#include "sim/workload/workload.h"

namespace tutti {

// What a home has run, as a workload: jobs at the times when they were submitted, with tasks that
// take as long as theirs took. Lengths of time without any job are kept.
Result<std::unique_ptr<Workload>> recorded_workload(Recording recording);

}  // namespace tutti
