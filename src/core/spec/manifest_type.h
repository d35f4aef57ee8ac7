#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/model/gang.h"
#include "core/spec/yaml_fields.h"

namespace tutti {

// One entry of a manifest's `types:`, before the operator has told what it means.
struct ManifestType {
  WorkerGroup group;  // its ranks' count is not filled in
  std::uint32_t count = 1;
  std::optional<std::uint32_t> completions;
  std::optional<std::uint32_t> parallelisms;
  std::optional<FailureRule> failure;
  std::string image;  // empty: the manifest's
  YamlNode place;     // of the type's name: for messages, without content
};

// Reads the type that is called `name`. Its own name, if the value has one, wins: `Workers` of Ray
// are a list.
Result<ManifestType> read_manifest_type(const YamlReader& reader, const YamlNode& name,
                                        const YamlNode& value);

// A command of a manifest: a line that is split as the lines of a batch are, or a list of words.
Result<Command> read_manifest_command(const YamlReader& reader, const YamlNode& value);

// A limit of time, more than zero.
Result<Duration> read_manifest_timeout(const YamlReader& reader, const YamlNode& value);

// A mapping, or a list of mappings with name and value.
Result<std::vector<std::string>> read_manifest_env(const YamlReader& reader, const YamlNode& value);

}  // namespace tutti
