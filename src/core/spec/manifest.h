#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/job_spec.h"
#include "core/spec/yaml_tree.h"

namespace tutti {

// What a manifest says: a gang, another spelling of a job file with `workers:`. Paths are as
// written, relative to the manifest's folder, which is also the work directory; env holds the
// manifest's additions only.
struct Manifest {
  JobSpec spec;
  std::vector<std::string> notes;  // what was understood and has no effect, for the user
  bool operator==(const Manifest&) const = default;
};

// Whether a YAML text wants to be a manifest: its kind is AIchorManifest, or it has apiVersion or
// spec, which no job file has.
bool is_manifest(const YamlNode& root);

// Reads a manifest: kind, apiVersion, builder and spec, with every field of
// docs/user/manifests.md. Strict: unknown fields are errors that name the place and the nearest
// field.
Result<Manifest> read_manifest(const YamlNode& root, const std::string& file_name);
Result<Manifest> parse_manifest(std::string_view text, const std::string& file_name);

}  // namespace tutti
