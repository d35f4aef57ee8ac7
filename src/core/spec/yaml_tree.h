#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tutti {

// A place in a YAML text, counted from 1.
struct YamlPlace {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

// A YAML text as a plain tree, with aliases resolved. Every scalar is text; what it means is
// decided by the field that it stands in.
struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kText, kList, kMap };
  Kind kind = Kind::kNull;
  YamlPlace place;
  std::string text;             // of kText
  std::vector<YamlNode> items;  // of kList; of kMap: the values
  std::vector<YamlNode> keys;   // of kMap: kText, each once
};

// "a list" and so on, for messages.
const char* yaml_kind_name(YamlNode::Kind kind);

// An error at a place: "FILE:LINE:COLUMN: why".
Error yaml_error(const std::string& file_name, YamlPlace place, const std::string& why);

// Parses one document of at most 16 MiB. No exception leaves it, and no text makes it use memory
// out of proportion.
Result<YamlNode> parse_yaml(std::string_view text, const std::string& file_name);

}  // namespace tutti
