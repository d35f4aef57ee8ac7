#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

// Readers of single JSON values for strict input. Each error begins with the field's name.

Result<std::int64_t> integer_from_json(const boost::json::value& value, std::string_view field,
                                       std::int64_t least, std::int64_t most);
Result<bool> bool_from_json(const boost::json::value& value, std::string_view field);
// A string of any bytes but NUL, which neither a command line nor a path can carry.
Result<std::string> word_from_json(const boost::json::value& value, std::string_view field);
Result<void> read_word(std::string_view field, const boost::json::value& value, std::string& into);
// An array of such strings.
Result<std::vector<std::string>> words_from_json(const boost::json::value& value,
                                                 std::string_view field);

// The value as an object whose keys are all among `known`; `what` is what the error calls it.
Result<const boost::json::object*> object_from_json(const boost::json::value& value,
                                                    std::string_view what,
                                                    std::span<const std::string_view> known);

}  // namespace tutti
