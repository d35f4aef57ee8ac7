#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "core/spec/text.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;
using boost::system::error_code;

constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

error_code not_finite() {
  return json::make_error_code(json::error::exponent_overflow);
}

// Builds the value as the library's own parser does, and counts the keys: the library keeps the
// last of two equal keys without a word.
struct Building {
  static constexpr std::size_t max_object_size = kNoLimit;
  static constexpr std::size_t max_array_size = kNoLimit;
  static constexpr std::size_t max_key_size = kNoLimit;
  static constexpr std::size_t max_string_size = kNoLimit;

  json::value_stack stack;
  std::uint64_t keys = 0;
  bool as_written = false;

  // True: it stands on the stack as it is written.
  bool keep_text(const json::value& number, std::string_view text) {
    if (!as_written || json_text(number) == text) return false;
    stack.push_chars(std::string(1, kAsWritten));
    stack.push_string(text);
    return true;
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t n, error_code&) {
    keys += n;
    stack.push_object(n);
    return true;
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t n, error_code&) {
    stack.push_array(n);
    return true;
  }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    stack.push_chars(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, error_code&) {
    stack.push_key(part);
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, error_code&) {
    stack.push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, std::size_t, error_code&) {
    stack.push_string(part);
    return true;
  }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t number, json::string_view text, error_code&) {
    if (!keep_text(number, text)) stack.push_int64(number);
    return true;
  }
  bool on_uint64(std::uint64_t number, json::string_view text, error_code&) {
    if (!keep_text(number, text)) stack.push_uint64(number);
    return true;
  }
  bool on_double(double number, json::string_view text, error_code& error) {
    if (!std::isfinite(number)) {
      error = not_finite();
      return false;
    }
    // The library's number may be off in its last digit. What is too small for one stays zero.
    std::from_chars(text.data(), text.data() + text.size(), number);
    if (!keep_text(number, text)) stack.push_double(number);
    return true;
  }
  bool on_bool(bool truth, error_code&) {
    stack.push_bool(truth);
    return true;
  }
  bool on_null(error_code&) {
    stack.push_null();
    return true;
  }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }
};

// Reads once more to find which key stands twice; only when one does.
struct FindingDuplicate {
  static constexpr std::size_t max_object_size = kNoLimit;
  static constexpr std::size_t max_array_size = kNoLimit;
  static constexpr std::size_t max_key_size = kNoLimit;
  static constexpr std::size_t max_string_size = kNoLimit;

  std::vector<std::set<std::string>> open;
  std::string key;

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    open.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, error_code&) {
    open.pop_back();
    return true;
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_key_part(json::string_view part, std::size_t, error_code&) {
    key += std::string_view(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, error_code& error) {
    key += std::string_view(part);
    if (!open.back().insert(key).second) {
      error = json::make_error_code(json::error::syntax);
      return false;
    }
    key.clear();
    return true;
  }
  bool on_string_part(json::string_view, std::size_t, error_code&) { return true; }
  bool on_string(json::string_view, std::size_t, error_code&) { return true; }
  bool on_number_part(json::string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, error_code&) { return true; }
  bool on_double(double, json::string_view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }
};

std::uint64_t count_keys(const json::value& value) {
  std::uint64_t keys = 0;
  if (const auto* object = value.if_object()) {
    keys += object->size();
    for (const auto& member : *object) keys += count_keys(member.value());
  } else if (const auto* array = value.if_array()) {
    for (const auto& element : *array) {
      if (element.is_structured()) keys += count_keys(element);
    }
  }
  return keys;
}

Error duplicate_key(std::string_view text, const json::parse_options& options) {
  json::basic_parser<FindingDuplicate> parser(options);
  error_code error;
  const std::size_t at = parser.write_some(false, text.data(), text.size(), error);
  return invalid_input("JSON: the key " + shown(parser.handler().key) +
                       " stands twice in one object, the second time before byte " +
                       std::to_string(at));
}

std::string reason_of(const error_code& error) {
  if (error == json::error::too_deep) return "it is nested too deeply";
  if (error == json::error::incomplete) return "it ends too early";
  if (error == json::error::exponent_overflow) return "a number is too large";
  return error.message();
}

Result<json::value> parse(std::string_view text, const JsonLimits& limits, bool as_written) {
  if (text.size() > limits.size) {
    return Error{ErrorCode::kExhausted, "JSON: " + std::to_string(text.size()) +
                                            " bytes are too many, at most " +
                                            std::to_string(limits.size) + " are accepted"};
  }
  json::parse_options options;
  options.max_depth = limits.depth;
  json::basic_parser<Building> parser(options);
  parser.handler().as_written = as_written;
  parser.handler().stack.reset(json::make_shared_resource<json::monotonic_resource>());
  error_code error;
  std::size_t at = parser.write_some(false, text.data(), text.size(), error);
  if (!error && at < text.size()) {
    const std::size_t rest = text.find_first_not_of(" \t\r\n", at);
    if (rest != text.npos) {
      at = rest;
      error = json::make_error_code(json::error::extra_data);
    }
  }
  if (error) {
    return invalid_input("JSON: " + reason_of(error) + " at byte " + std::to_string(at));
  }
  json::value value = parser.handler().stack.release();
  if (count_keys(value) != parser.handler().keys) return duplicate_key(text, options);
  return value;
}

}  // namespace

Result<json::value> parse_json(std::string_view text, const JsonLimits& limits) {
  return parse(text, limits, false);
}

Result<json::value> parse_json_as_written(std::string_view text, const JsonLimits& limits) {
  return parse(text, limits, true);
}

}  // namespace tutti
