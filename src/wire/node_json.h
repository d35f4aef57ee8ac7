#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "core/model/node.h"

namespace tutti {

// The machine that POST /v1/nodes describes: address, and name, key, gpus, max_jobs, labels,
// patience if they are given. Strict. The name is the host's if there is none, and the label "pool"
// is always among its labels.
Result<Node> node_from_json(std::string_view body);

// The number of POST /v1/nodes/NAME/limit.
Result<std::uint32_t> node_limit_from_json(std::string_view body);

}  // namespace tutti
