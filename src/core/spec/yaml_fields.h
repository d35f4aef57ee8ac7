#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "base/result.h"
#include "core/model/command.h"
#include "core/spec/text.h"
#include "core/spec/yaml_tree.h"

namespace tutti {

// Reads values of a YAML file strictly. Every error begins with FILE:LINE:COLUMN and names the
// field. Lives for the reading of one file, whose name it refers to.
class YamlReader {
 public:
  explicit YamlReader(const std::string& file_name) : file_name_(file_name) {}

  Error error(const YamlNode& at, const std::string& why) const {
    return yaml_error(file_name_, at.place, why);
  }
  Error wrong_kind(const YamlNode& value, std::string_view field, const char* wanted) const;
  Error unknown(const YamlNode& key, std::string_view where,
                std::span<const std::string_view> known) const;

  // One value that is not empty.
  Result<std::string> text(const YamlNode& value, std::string_view field) const;
  Result<std::vector<std::string>> texts(const YamlNode& value, std::string_view field) const;
  // A mapping of names and values, as "NAME=value".
  Result<std::vector<std::string>> variables(const YamlNode& value, std::string_view field) const;
  // A line for the shell, or a list of words.
  Result<Command> command(const YamlNode& value) const;
  Result<bool> truth(const YamlNode& value, std::string_view field) const;

  // Stores what was read already, or gives its error.
  template <typename T>
  static Result<void> keep(Result<T> read, T& into) {
    if (!read) return read.error();
    into = *std::move(read);
    return {};
  }
  // Stores what was parsed from the text of `value`, or gives its error with the place.
  template <typename T>
  Result<void> store(const YamlNode& value, Result<T> parsed, T& into) const {
    if (!parsed) return error(value, parsed.error().message);
    into = *std::move(parsed);
    return {};
  }

 private:
  const std::string& file_name_;
};

// A field of a mapping and how its value gets into a Target.
template <typename Target>
struct YamlField {
  std::string_view name;
  Result<void> (*read)(const YamlReader& reader, const YamlNode& value, Target& target);
};

// Reads a mapping all of whose fields are in `fields`; `where` is what errors call it.
template <typename Target>
Result<void> read_fields(const YamlReader& reader, const YamlNode& map, std::string_view where,
                         std::span<const YamlField<Target>> fields, Target& target) {
  if (map.kind != YamlNode::Kind::kMap) return reader.wrong_kind(map, where, "a mapping");
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& field) {
      return field.name == map.keys[i].text;
    });
    if (found == fields.end()) {
      std::vector<std::string_view> known;
      for (const auto& field : fields) known.push_back(field.name);
      return reader.unknown(map.keys[i], where, known);
    }
    if (const auto done = found->read(reader, map.items[i], target); !done) return done;
  }
  return {};
}

}  // namespace tutti
