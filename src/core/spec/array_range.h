#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/model/job_spec.h"

namespace tutti {

// How many tasks one job may have.
inline constexpr std::uint32_t kMaxTasks = 10'000'000;

// The tasks of an array: FIRST[-LAST[:STEP]][%PARALLEL], such as "1-100%4", "0-9:2" or "5". LAST is
// included when a step hits it; %PARALLEL is how many run at once. Lists such as "1,5,9" are
// refused.
Result<TaskSet> parse_array_range(std::string_view text);

// The shortest text that parse_array_range reads as an array of these tasks.
std::string format_array_range(const TaskSet& tasks);

}  // namespace tutti
