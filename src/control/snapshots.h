#pragma once

#include <cstdint>
#include <functional>
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

// A file of this machine as a client saw it, by what stat tells. The numbers are there so that no
// other file is taken for it: not one of the same name on another machine, nor a later content.
struct SeenFile {
  std::string path;  // absolute
  std::int64_t device = 0;
  std::int64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified = 0;  // nanoseconds since 1970
  std::int64_t changed = 0;
  bool as_found = false;  // it may have changed since: then device and inode alone must be the same
  bool operator==(const SeenFile&) const = default;
};

// Port: keeps work directories as they were at submission, by the digest of their content. Called
// from the API's threads; safe from any of them.
class Snapshots {
 public:
  using Wanted = std::function<bool()>;

  virtual ~Snapshots() = default;

  // The digests of the content that is not here yet, each once. kInvalidInput for a manifest whose
  // paths would leave the work directory.
  virtual Result<std::vector<std::string>> missing(const SnapshotManifest& manifest) = 0;

  // Keeps content. kInvalidInput when it does not have that digest.
  virtual Result<void> put_blob(const std::string& sha256, std::string_view bytes) = 0;

  // Keeps the content of a file on this machine, of any size, and returns its digest. kNotFound
  // when there is no such file, or it is not, or while it was read no longer, the one that was
  // seen. As found: what was read is kept, also of a file that is being written. Gives up with
  // kUnavailable, and keeps nothing, when `wanted` says no; it is asked every few megabytes.
  virtual Result<std::string> keep_file(const SeenFile& file, const Wanted& wanted) = 0;

  // Keeps the manifest and returns the digest to submit jobs with. kNotFound while content is
  // missing.
  virtual Result<std::string> save(const SnapshotManifest& manifest) = 0;

  // Whether the snapshot is here. If so, it stays for hours, so that a job can be submitted with
  // it; then for as long as there is that job.
  virtual bool use(const std::string& digest) = 0;
};

}  // namespace tutti
