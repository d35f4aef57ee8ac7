#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace tutti {

// The fields of an answer, read with good will: what is missing, null or of another type is as if
// it were not there. integer_at and text_at stand in views.h.

// The value under `key` of an object, or null.
const boost::json::value* field_at(const boost::json::value& value, std::string_view key);
// The array under `key`, or null.
const boost::json::array* array_at(const boost::json::value& value, std::string_view key);
std::int64_t number_at(const boost::json::value& value, std::string_view key);
// As above, but never below zero.
std::uint64_t count_at(const boost::json::value& value, std::string_view key);
std::optional<double> fraction_at(const boost::json::value& value, std::string_view key);
double real_at(const boost::json::value& value, std::string_view key);
bool truth_at(const boost::json::value& value, std::string_view key, bool otherwise = false);
TimePoint time_at(const boost::json::value& value, std::string_view key);
// Strings, or the "text" of objects; anything else as JSON.
std::vector<std::string> texts_at(const boost::json::value& value, std::string_view key);

}  // namespace tutti
