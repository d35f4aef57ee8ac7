#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

// The cells of a line of comma-separated values, without spaces around them. A cell may stand in
// double quotes, with commas but no quotes in it; other quotes are an error.
Result<std::vector<std::string_view>> csv_cells(std::string_view line);

// Without the mark that some programs write before UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

}  // namespace tutti
