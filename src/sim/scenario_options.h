#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "core/lifecycle/event.h"
#include "core/model/job_spec.h"
#include "core/model/node.h"
#include "sim/scenario.h"

namespace tutti {

// The job of a submit line. `job_named` gives the newest job of a name, for "after".
Result<JobSpec> spec_of(const ScenarioAction& action,
                        const std::function<std::optional<JobId>(const std::string&)>& job_named);

// The node of a node line.
Result<Node> node_of(const ScenarioAction& action);

// "speed MODEL_SIZE_BATCH on=CELL takes=TIME": what was measured; without a time, that it does not
// fit.
Result<SpeedChange> speed_of(const ScenarioAction& action);

}  // namespace tutti
