#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace tutti {

// How much JSON is accepted from outside.
struct JsonLimits {
  std::size_t size = std::size_t{256} << 20;  // bytes
  std::size_t depth = 32;
};

// Strict JSON: UTF-8 only, no comments, no trailing text, no key twice in an object, no number that
// a double cannot hold. The error names the byte at which reading stopped.
Result<boost::json::value> parse_json(std::string_view text, const JsonLimits& limits = {});

// The same, for texts that go on as text: a number that json_text() would write otherwise, such as
// 1.0, is a string of kAsWritten, which no other string can hold, and its digits.
inline constexpr char kAsWritten = '\xFF';
Result<boost::json::value> parse_json_as_written(std::string_view text,
                                                 const JsonLimits& limits = {});

// The value as JSON text without spaces. Unlike the library's own it writes 1.5, not 1.5E0.
std::string json_text(const boost::json::value& value);

// Whether all of `text` is well-formed UTF-8 (no surrogates, nothing overlong).
bool is_utf8(std::string_view text);
// The length of the longest prefix of `text` that does not end inside a UTF-8 character. Text that
// is not UTF-8 anyway is not shortened by more than three bytes.
std::size_t whole_characters(std::string_view text);

// A string of any bytes: a JSON string if it is UTF-8, otherwise {"base64": "..."}.
boost::json::value text_to_json(std::string_view text);
// The same, and null for no text.
boost::json::value text_or_null(std::string_view text);
// The reverse; `field` is what the error calls it.
Result<std::string> text_from_json(const boost::json::value& value, std::string_view field);

// "2026-01-02T03:04:05.000006Z".
std::string iso_time(TimePoint time);
Result<TimePoint> parse_iso_time(std::string_view text);
// As above; null for no time.
boost::json::value time_to_json(TimePoint time);
// Seconds as a number: whole ones as an integer.
boost::json::value seconds_to_json(Duration duration);

// {"error": {"code": "...", "message": "..."}}
boost::json::value error_to_json(const Error& error);
// The error of such an object; for anything else an Error of its own that says so.
Error error_from_json(const boost::json::value& value);

}  // namespace tutti
