#include "core/spec/yaml_fields.h"

namespace tutti {

using Kind = YamlNode::Kind;

namespace {

// So many fields are named to somebody who wrote one that is near none of them.
constexpr std::size_t kMostNamed = 12;

}  // namespace

Error YamlReader::wrong_kind(const YamlNode& value, std::string_view field,
                             const char* wanted) const {
  return error(value,
               std::string(field) + " is " + yaml_kind_name(value.kind) + "; write " + wanted);
}

Error YamlReader::unknown(const YamlNode& key, std::string_view where,
                          std::span<const std::string_view> known) const {
  std::string rest = did_you_mean(key.text, known);
  if (rest.empty() && known.size() <= kMostNamed) {
    for (const std::string_view name : known)
      rest += (rest.empty() ? "; there are " : ", ") + std::string(name);
  }
  return error(key, "unknown field " + shown(key.text) +
                        (where.empty() ? "" : " in " + std::string(where)) + rest);
}

Result<std::string> YamlReader::text(const YamlNode& value, std::string_view field) const {
  if (value.kind != Kind::kText) return wrong_kind(value, field, "one value");
  if (trimmed(value.text).empty()) return error(value, std::string(field) + " is empty");
  return value.text;
}

Result<std::vector<std::string>> YamlReader::texts(const YamlNode& value,
                                                   std::string_view field) const {
  if (value.kind != Kind::kList) return wrong_kind(value, field, "a list");
  std::vector<std::string> out;
  out.reserve(value.items.size());
  for (const YamlNode& item : value.items) {
    if (item.kind != Kind::kText)
      return wrong_kind(item, "an entry of " + std::string(field), "text");
    out.push_back(item.text);
  }
  return out;
}

Result<std::vector<std::string>> YamlReader::variables(const YamlNode& value,
                                                       std::string_view field) const {
  if (value.kind != Kind::kMap) return wrong_kind(value, field, "a mapping such as 'NAME: value'");
  const std::string what(field);
  std::vector<std::string> out;
  out.reserve(value.keys.size());
  for (std::size_t i = 0; i < value.keys.size(); ++i) {
    const std::string& name = value.keys[i].text;
    if (name.empty() || name.find('=') != std::string::npos) {
      return error(value.keys[i],
                   what + " " + shown(name) + ": a name is not empty and has no '='");
    }
    if (value.items[i].kind != Kind::kText) {
      return wrong_kind(value.items[i], what + " " + name, "text (\"\" for an empty value)");
    }
    out.push_back(name + "=" + value.items[i].text);
  }
  return out;
}

Result<Command> YamlReader::command(const YamlNode& value) const {
  Command command;
  if (value.kind == Kind::kText) {
    command.shell = value.text;
  } else if (value.kind == Kind::kList) {
    Result<std::vector<std::string>> words = texts(value, "command");
    if (!words) return words.error();
    command.argv = *std::move(words);
  } else {
    return wrong_kind(value, "command", "a shell line or a list of words");
  }
  if (command.argv.empty() && trimmed(command.shell).empty())
    return error(value, "command is empty");
  return command;
}

Result<bool> YamlReader::truth(const YamlNode& value, std::string_view field) const {
  if (value.kind != Kind::kText || (value.text != "true" && value.text != "false")) {
    return error(value, std::string(field) + " must be true or false");
  }
  return value.text == "true";
}

}  // namespace tutti
