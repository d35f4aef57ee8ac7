#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

// One entry of a snapshot of a work directory: a link if it has a target, a file if it has a
// digest, otherwise an empty folder.
struct SnapshotEntry {
  std::string path;           // relative, with '/'
  std::uint32_t mode = 0644;  // permission bits; of a link: not used
  std::string sha256;         // of a file's content, in lower-case hexadecimal
  std::string link_target;
  bool operator==(const SnapshotEntry&) const = default;
};
using SnapshotManifest = std::vector<SnapshotEntry>;

// Port: keeps work directories as they were at submission, by the digest of their content. Called
// from the API's threads; safe from any of them.
class Snapshots {
 public:
  virtual ~Snapshots() = default;

  // The digests of the content that is not here yet, each once. kInvalidInput for a manifest whose
  // paths would leave the work directory.
  virtual Result<std::vector<std::string>> missing(const SnapshotManifest& manifest) = 0;

  // Keeps content. kInvalidInput when it does not have that digest.
  virtual Result<void> put_blob(const std::string& sha256, std::string_view bytes) = 0;

  // Keeps the content of a file on this machine, of any size. kInvalidInput when it does not have
  // that digest, kNotFound when there is no such file.
  virtual Result<void> copy_blob(const std::string& sha256, const std::string& path) = 0;

  // Keeps the manifest and returns the digest to submit jobs with. kNotFound while content is
  // missing.
  virtual Result<std::string> save(const SnapshotManifest& manifest) = 0;
};

}  // namespace tutti
