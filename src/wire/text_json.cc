#include "wire/text_json.h"

#include <boost/json.hpp>
#include <cstdint>
#include <cstdio>
#include <ctime>

#include "core/spec/text.h"
#include "wire/base64.h"

namespace tutti {
namespace json = boost::json;

bool is_utf8(std::string_view text) {
  return !first_invalid_utf8(text);
}

std::size_t whole_characters(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return length > back ? text.size() - back : text.size();
  }
  return text.size();
}

json::value text_to_json(std::string_view text) {
  if (is_utf8(text)) return json::string(text);
  return json::object{{"base64", base64_encode(text)}};
}

json::value text_or_null(std::string_view text) {
  return text.empty() ? json::value() : text_to_json(text);
}

Result<std::string> text_from_json(const json::value& value, std::string_view field) {
  if (const auto* text = value.if_string()) return std::string(*text);
  const auto* object = value.if_object();
  const auto* encoded = object && object->size() == 1 ? object->if_contains("base64") : nullptr;
  if (encoded == nullptr || !encoded->is_string()) {
    return invalid_input(std::string(field) +
                         " must be a string, or {\"base64\": \"...\"} if it is not UTF-8");
  }
  auto decoded = base64_decode(encoded->get_string());
  if (!decoded) return invalid_input(std::string(field) + ": " + decoded.error().message);
  return decoded;
}

std::string iso_time(TimePoint time) {
  std::int64_t whole = time.value / 1000000;
  std::int64_t micros = time.value % 1000000;
  if (micros < 0) {
    micros += 1000000;
    --whole;
  }
  const std::time_t stamp = static_cast<std::time_t>(whole);
  std::tm parts{};
  ::gmtime_r(&stamp, &parts);
  char text[80];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(micros));
  return text;
}

Result<TimePoint> parse_iso_time(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd.ddddddZ";
  const Error wrong =
      invalid_input(shown(text) + " is not a time such as 2026-01-02T03:04:05.000006Z");
  if (text.size() != kForm.size()) return wrong;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == 'd' ? !digit : text[i] != kForm[i]) return wrong;
  }
  const auto number = [&](std::size_t first, std::size_t count) {
    int value = 0;
    for (std::size_t i = first; i < first + count; ++i) value = value * 10 + (text[i] - '0');
    return value;
  };
  std::tm parts{};
  parts.tm_year = number(0, 4) - 1900;
  parts.tm_mon = number(5, 2) - 1;
  parts.tm_mday = number(8, 2);
  parts.tm_hour = number(11, 2);
  parts.tm_min = number(14, 2);
  parts.tm_sec = number(17, 2);
  const std::time_t stamp = ::timegm(&parts);
  const TimePoint time(static_cast<std::int64_t>(stamp) * 1000000 + number(20, 6));
  // timegm carries the 31st of February over into March; then the text does not come back.
  if (iso_time(time) != text) return wrong;
  return time;
}

json::value time_to_json(TimePoint time) {
  if (!time) return nullptr;
  return json::string(iso_time(time));
}

json::value seconds_to_json(Duration duration) {
  if (duration.value % 1000000 == 0) return duration.value / 1000000;
  return static_cast<double>(duration.value) / 1e6;
}

json::value error_to_json(const Error& error) {
  return json::object{{"error", json::object{{"code", error_code_name(error.code)},
                                             {"message", text_to_json(error.message)}}}};
}

Error error_from_json(const json::value& value) {
  const Error unknown{ErrorCode::kUnsupported,
                      "the answer is an error in a form that this program does not know"};
  const auto* top = value.if_object();
  const auto* inner = top ? top->if_contains("error") : nullptr;
  const auto* fields = inner ? inner->if_object() : nullptr;
  const auto* code = fields ? fields->if_contains("code") : nullptr;
  const auto* message = fields ? fields->if_contains("message") : nullptr;
  if (code == nullptr || message == nullptr || !code->is_string()) return unknown;
  const auto text = text_from_json(*message, "message");
  if (!text) return unknown;
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    const auto candidate = static_cast<ErrorCode>(i);
    if (code->get_string() == error_code_name(candidate)) return {candidate, *text};
  }
  return {ErrorCode::kInternal, *text};
}

}  // namespace tutti
