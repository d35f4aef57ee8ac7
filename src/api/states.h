#pragma once

#include <vector>

#include "api/http.h"
#include "core/model/task_state.h"

namespace tutti {

// The states that the parameter `state` names, with commas; none when it is absent.
Result<std::vector<TaskState>> states_of(const Target& target);

}  // namespace tutti
