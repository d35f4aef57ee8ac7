#include "wire/json_fields.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/nearest.h"
#include "core/spec/text.h"
#include "wire/text_json.h"

namespace tutti {
namespace json = boost::json;

Result<std::int64_t> integer_from_json(const json::value& value, std::string_view field,
                                       std::int64_t least, std::int64_t most) {
  const Error wrong = invalid_input(std::string(field) + " must be a whole number from " +
                                    std::to_string(least) + " to " + std::to_string(most));
  std::int64_t number = 0;
  if (const auto* plain = value.if_int64()) {
    number = *plain;
  } else if (const auto* natural = value.if_uint64();
             natural != nullptr && *natural <= static_cast<std::uint64_t>(INT64_MAX)) {
    number = static_cast<std::int64_t>(*natural);
  } else {
    return wrong;
  }
  if (number < least || number > most) return wrong;
  return number;
}

Result<bool> bool_from_json(const json::value& value, std::string_view field) {
  if (const auto* truth = value.if_bool()) return *truth;
  return invalid_input(std::string(field) + " must be true or false");
}

Result<std::string> word_from_json(const json::value& value, std::string_view field) {
  auto text = text_from_json(value, field);
  if (text && text->find('\0') != std::string::npos) {
    return invalid_input(std::string(field) + " must not contain a NUL byte");
  }
  return text;
}

Result<std::vector<std::string>> words_from_json(const json::value& value, std::string_view field) {
  const auto* array = value.if_array();
  if (array == nullptr) return invalid_input(std::string(field) + " must be an array of strings");
  std::vector<std::string> words;
  words.reserve(array->size());
  for (const auto& element : *array) {
    auto word = word_from_json(element, field);
    if (!word) {
      return invalid_input(std::string(field) + ", element " + std::to_string(words.size() + 1) +
                           ": " + word.error().message);
    }
    words.push_back(std::move(*word));
  }
  return words;
}

Result<const json::object*> object_from_json(const json::value& value, std::string_view what,
                                             std::span<const std::string_view> known) {
  const auto* object = value.if_object();
  if (object == nullptr) return invalid_input(std::string(what) + " must be a JSON object");
  for (const auto& member : *object) {
    const std::string_view key = member.key();
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return invalid_input("unknown key " + shown(key) + " in " + std::string(what) +
                           did_you_mean(key, known));
    }
  }
  return object;
}

Result<void> read_word(std::string_view field, const json::value& value, std::string& into) {
  auto word = word_from_json(value, field);
  if (!word) return word.error();
  into = std::move(*word);
  return {};
}

}  // namespace tutti
