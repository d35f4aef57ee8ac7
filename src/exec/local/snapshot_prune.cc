// The part of SnapshotFolder that removes what nobody needs any more.
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exec/local/remove_file.h"
#include "exec/local/snapshot.h"

namespace tutti {
namespace {

// When a file was used last is its time of access, which is set explicitly: it outlives the daemon,
// and reading may only make it later. Set anew before it is half as old as what is removed.
constexpr std::int64_t kUnusedSeconds = 6 * 3600;

std::int64_t unused_for(const struct stat& status) {
  return std::int64_t{time(nullptr)} - status.st_atim.tv_sec;
}

}  // namespace

// Whether the file is there; it stays then until kUnusedSeconds after this.
bool SnapshotFolder::use_file(const std::string& path) {
  const std::lock_guard lock(removal_);
  struct stat status {};
  if (access(path.c_str(), R_OK) != 0 || stat(path.c_str(), &status) != 0) return false;
  if (unused_for(status) < kUnusedSeconds / 2) return true;
  const timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  return utimensat(AT_FDCWD, path.c_str(), times, 0) == 0;
}

Files SnapshotFolder::remove_unused(const std::string& path, const Removal& removal) {
  if (!removal.goes_on()) return {};
  const std::lock_guard lock(removal_);
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (unused_for(status) < kUnusedSeconds) return {};
  return remove_file(path, status, removal);
}

Files SnapshotFolder::prune(const std::set<std::string>& needed, const Removal& removal) {
  Files removed;
  std::uint64_t unread = 0;
  std::set<std::string> kept;
  for (const std::filesystem::path& path : entries_of(home_ + "/snapshots")) {
    const std::string name = path.filename();
    const Files one = needed.contains(name) ? Files() : remove_unused(path, removal);
    removed += one;
    if (one.count > 0) continue;
    // No work directory can be made of a damaged one: it needs nothing.
    const Result<SnapshotManifest> manifest = load(name);
    const bool known = manifest || manifest.error().code == ErrorCode::kCorrupt ||
                       manifest.error().code == ErrorCode::kInvalidInput;
    if (!known) ++unread;
    if (!manifest) continue;
    for (const SnapshotEntry& entry : *manifest) kept.insert(entry.sha256);
  }
  removed.stuck += unread;
  // What one needs that cannot be read, nobody knows: then all content stays.
  if (unread == 0) removed += prune_blobs(kept, removal);
  return removed;
}

Files SnapshotFolder::prune_blobs(const std::set<std::string>& kept, const Removal& removal) {
  Files removed;
  for (const std::filesystem::path& path : entries_of(home_ + "/blobs")) {
    const std::string first = path.filename();
    // What was being copied when the daemon was killed.
    if (first.starts_with("new.")) removed += remove_unused(path, removal);
    if (first.size() != 2) continue;
    for (const std::filesystem::path& blob : entries_of(path))
      if (!kept.contains(first + blob.filename().string())) removed += remove_unused(blob, removal);
  }
  return removed;
}

}  // namespace tutti
