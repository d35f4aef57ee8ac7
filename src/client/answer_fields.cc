#include "client/answer_fields.h"

#include <algorithm>
#include <boost/json.hpp>

#include "client/views.h"
#include "wire/text_json.h"

namespace tutti {

namespace json = boost::json;

const json::value* field_at(const json::value& value, std::string_view key) {
  const auto* object = value.if_object();
  return object == nullptr ? nullptr : object->if_contains(key);
}

const json::array* array_at(const json::value& value, std::string_view key) {
  const auto* found = field_at(value, key);
  return found == nullptr ? nullptr : found->if_array();
}

std::int64_t number_at(const json::value& value, std::string_view key) {
  return integer_at(value, key).value_or(0);
}

std::uint64_t count_at(const json::value& value, std::string_view key) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, number_at(value, key)));
}

std::optional<double> fraction_at(const json::value& value, std::string_view key) {
  const auto* found = field_at(value, key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return found->to_number<double>();
}

double real_at(const json::value& value, std::string_view key) {
  return fraction_at(value, key).value_or(0);
}

bool truth_at(const json::value& value, std::string_view key, bool otherwise) {
  const auto* found = field_at(value, key);
  return found != nullptr && found->is_bool() ? found->as_bool() : otherwise;
}

TimePoint time_at(const json::value& value, std::string_view key) {
  const auto* found = field_at(value, key);
  if (found == nullptr || !found->is_string()) return {};
  auto time = parse_iso_time(std::string_view(found->as_string()));
  return time ? *time : TimePoint();
}

std::vector<std::string> texts_at(const json::value& value, std::string_view key) {
  std::vector<std::string> out;
  const auto* found = array_at(value, key);
  if (found == nullptr) return out;
  for (const auto& element : *found) {
    if (element.is_object() && field_at(element, "text") != nullptr) {
      out.push_back(text_at(element, "text"));
    } else if (auto text = text_from_json(element, key)) {
      out.push_back(*text);
    } else {
      out.push_back(json::serialize(element));
    }
  }
  return out;
}

std::optional<std::int64_t> integer_at(const json::value& value, std::string_view key) {
  const auto* found = field_at(value, key);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  boost::system::error_code failure;
  const auto number = found->to_number<std::int64_t>(failure);
  if (failure) return std::nullopt;
  return number;
}

std::string text_at(const json::value& value, std::string_view key) {
  const auto* found = field_at(value, key);
  if (found == nullptr) return {};
  auto text = text_from_json(*found, key);
  return text ? *text : std::string();
}

}  // namespace tutti
