#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tutti {

// One value of a FlatObject; numbers and words as they were written.
using FlatField = std::pair<std::string, std::string>;
using FlatObject = std::vector<FlatField>;

// JSON of exactly one shape, an object of objects of plain values, as GPU tools write it: strict
// within that shape, everything else is an error. In the order of the text.
Result<std::vector<std::pair<std::string, FlatObject>>> parse_flat_json(std::string_view text);

}  // namespace tutti
