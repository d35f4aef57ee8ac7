#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/job_spec.h"

namespace tutti {

// "12", "12:success", "12:any" or "12:failure": one job and the result that it must have.
Result<Dependency> parse_dependency(std::string_view text);

// A list of them with commas. The same job with two different results is refused; a repetition is
// dropped.
Result<std::vector<Dependency>> parse_dependencies(std::string_view text);

// Adds one to a list under the same rule.
Result<void> add_dependency(std::vector<Dependency>& list, const Dependency& dependency);

// "12" or "12:any": what parse_dependency reads.
std::string format_dependency(const Dependency& dependency);

}  // namespace tutti
