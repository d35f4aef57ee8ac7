#include "wire/spec_parts.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>

#include "core/spec/model_text.h"
#include "core/spec/text.h"
#include "wire/json_fields.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;
using Variables = std::vector<std::string>;

// The fields of field.h whose value is text only; of the others it may be a number as well.
constexpr std::array<std::string_view, 12> kTextFields = {
    "name",  "project",   "kind",  "array",   "workdir",        "output",
    "error", "framework", "image", "failure", "configurations", "model"};

// Those whose value is a number only, as it has no units.
constexpr std::array<std::string_view, 2> kNumberFields = {"priority", "retries"};

// A number as a user would have written it on the command line. Six decimals are more than any
// field keeps: 0.1 + 0.2 is 0.3 here and not a little more, which would be rounded up.
std::string number_text(const json::value& value) {
  if (const auto* whole = value.if_int64()) return std::to_string(*whole);
  if (const auto* large = value.if_uint64()) return std::to_string(*large);
  char digits[400];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value.get_double(), std::chars_format::fixed, 6)
          .ptr;
  std::string text(digits, end);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

Result<void> add_variable(std::string_view field, std::string variable, std::size_t name_length,
                          Variables& variables) {
  const std::string_view name = std::string_view(variable).substr(0, name_length);
  if (name.empty() || name.find('=') != name.npos || name.find('\0') != name.npos) {
    return invalid_input(std::string(field) + ": " + shown(variable) +
                         " does not begin with a variable's name");
  }
  variables.push_back(std::move(variable));
  return {};
}

}  // namespace

json::value thousandths(std::int64_t milli) {
  if (milli % 1000 == 0) return milli / 1000;
  return static_cast<double>(milli) / 1000;
}

Result<std::string> scalar_from_json(std::string_view field, const json::value& value) {
  const bool text_only =
      std::find(kTextFields.begin(), kTextFields.end(), field) != kTextFields.end();
  if (value.is_number() && !text_only) return number_text(value);
  if (std::find(kNumberFields.begin(), kNumberFields.end(), field) != kNumberFields.end())
    return invalid_input(std::string(field) + " must be a whole number");
  if (!text_only && !value.is_string()) {
    return invalid_input(std::string(field) + " must be a number or a string");
  }
  return word_from_json(value, field);
}

Result<void> read_command(const json::value& value, Command& command) {
  if (!value.is_array()) {
    auto line = word_from_json(value, "command");
    if (!line) return line.error();
    if (line->empty()) return invalid_input("command is empty");
    command.shell = *std::move(line);
    return {};
  }
  auto words = words_from_json(value, "command");
  if (!words) return words.error();
  if (words->empty()) return invalid_input("command has no words");
  command.argv = *std::move(words);
  return {};
}

Result<void> read_variables(std::string_view field, const json::value& value,
                            std::vector<std::string>& variables) {
  const std::string what(field);
  if (value.is_array()) {
    auto words = words_from_json(value, field);
    if (!words) return words.error();
    for (auto& word : *words) {
      const std::size_t equals = word.find('=');
      if (equals == word.npos)
        return invalid_input(what + ": " + shown(word) + " is not NAME=value");
      const auto added = add_variable(field, std::move(word), equals, variables);
      if (!added) return added;
    }
    return {};
  }
  const auto* object = value.if_object();
  if (object == nullptr) return invalid_input(what + " must be an object of names and values");
  variables.reserve(object->size());
  for (const auto& member : *object) {
    const std::string_view name = member.key();
    const auto setting = word_from_json(member.value(), what + " " + shown(name));
    if (!setting) return setting.error();
    const auto added =
        add_variable(field, std::string(name) + "=" + *setting, name.size(), variables);
    if (!added) return added;
  }
  return {};
}

json::array texts_to_json(const std::vector<std::string>& words, std::size_t first) {
  json::array array;
  array.reserve(words.size());
  for (std::size_t i = first; i < words.size(); ++i) array.push_back(text_to_json(words[i]));
  return array;
}

json::value env_to_json(const std::vector<std::string>& env) {
  json::object object;
  object.reserve(env.size());
  for (const auto& variable : env) {
    const std::size_t equals = variable.find('=');
    const std::string_view name = std::string_view(variable).substr(0, equals);
    if (equals == variable.npos || !is_utf8(name) || object.contains(name))
      return texts_to_json(env);
    object.emplace(name, text_to_json(std::string_view(variable).substr(equals + 1)));
  }
  return object;
}

json::value command_to_json(const Command& command) {
  if (!command.argv.empty()) return texts_to_json(command.argv);
  return text_to_json(command.shell);
}

void put_request(const Request& request, json::object& out) {
  if (request.limit_cpus) out["cpus"] = thousandths(request.cpus.value);
  if (request.limit_memory) out["mem"] = request.memory.value;
  const DeviceRequest& devices = request.devices;
  if (!request.configurations.empty())
    out["configurations"] = text_to_json(format_configurations(request.configurations));
  else if (devices.count > 0 && devices.type.empty())
    out["gpus"] = devices.count;
  else if (!devices.type.empty()) {
    out["gpus"] = text_to_json(devices.type + ":" + std::to_string(devices.count));
  }
  if (devices.memory.value > 0) out["gpu_mem"] = devices.memory.value;
  if (devices.share.value > 0) out["gpu_util"] = thousandths(devices.share.value);
  if (devices.sharing == Sharing::kNever) out["share"] = "never";
  if (devices.packing == Packing::kSpread) out["gpu_policy"] = "spread";
  if (!request.labels.empty()) out["labels"] = texts_to_json(request.labels);
}

}  // namespace tutti
