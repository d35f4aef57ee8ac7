#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace tutti {

// The seconds that a run reported: every "iteration_time: 0.123" or "iteration_time=0.123" in its
// output, one a line, wherever in the line. What is no positive number is left out.
std::vector<double> parse_iteration_times(std::string_view output);

// What an iteration takes once the run has warmed up: the median of all but the first fifth, at
// least the first. Nothing if none is left.
std::optional<double> settled_time(const std::vector<double>& times);

}  // namespace tutti
