#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "control/prune.h"
#include "control/snapshots.h"
#include "exec/local/file_content.h"
#include "exec/local/file_extents.h"

namespace tutti {

// The text that is stored for a manifest, sorted by path: docs/formats/snapshot.md. kInvalidInput
// for paths that leave the work directory, go through a link, or are there twice.
Result<std::string> snapshot_text(const SnapshotManifest& manifest);
// kCorrupt when it is not such a text.
Result<SnapshotManifest> parse_snapshot(std::string_view text);

// Snapshots below one home: content in blobs/, manifests in snapshots/. All files are written whole
// or not at all. Safe from any thread. Files may be removed by prune() of the same object only,
// which must be the one that clients use.
class SnapshotFolder final : public Snapshots {
 public:
  explicit SnapshotFolder(std::string home) : home_(std::move(home)) {}

  Result<std::vector<std::string>> missing(const SnapshotManifest& manifest) override;
  Result<void> put_blob(const std::string& sha256, std::string_view bytes) override;
  Result<std::string> keep_file(const SeenFile& file, const Wanted& wanted) override;
  Result<std::string> save(const SnapshotManifest& manifest) override;
  bool use(const std::string& digest) override;

  // Removes the manifests that are not `needed` and then the contents that no manifest has; of both
  // only what nobody has used for hours. A manifest that cannot be read is stuck, and all contents
  // stay then.
  Files prune(const std::set<std::string>& needed, const Removal& removal);

  // A manifest that was saved; kCorrupt when it is damaged.
  Result<SnapshotManifest> load(const std::string& digest) const;
  // The parts of a content that are not holes.
  Result<std::vector<FileExtent>> blob_extents(const std::string& sha256) const;
  // The size of a content.
  Result<std::int64_t> blob_size(const std::string& sha256) const;
  // Hands a content to `sink` in pieces and checks it meanwhile. If it is damaged, which is known
  // only at its end, it is removed, so that it is asked for again: kCorrupt.
  Result<void> read_blob(const std::string& sha256, const ContentSink& sink) const;
  // A content that is known to be whole, so that nobody has to check it; none: read_blob().
  UniqueFd open_known(const std::string& sha256) const;
  // Makes `folder` from a snapshot; it appears as a whole. Does nothing if it is there.
  Result<void> materialise(const std::string& digest, const std::string& folder) const;

 private:
  Result<std::string> keep_small(int source, const SeenFile& file);
  Result<void> write_blob(const std::string& sha256, std::string_view bytes);
  std::string blob_path(const std::string& sha256) const;
  bool use_file(const std::string& path);
  Files remove_unused(const std::string& path, const Removal& removal);
  Files prune_blobs(const std::set<std::string>& kept, const Removal& removal);
  Result<void> fill(const SnapshotManifest& manifest, const std::string& folder) const;

  const std::string home_;
  // Between a look at when a file was used and its removal nobody may begin to use it.
  std::mutex removal_;
};

}  // namespace tutti
