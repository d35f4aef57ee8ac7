#include "exec/ssh/snapshot_change.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace tutti {
namespace {

using Paths = std::set<std::string, std::less<>>;

// The folders that lead to a path, the highest first.
std::vector<std::string_view> folders_of(std::string_view path) {
  std::vector<std::string_view> folders;
  for (std::size_t at = path.find('/'); at != path.npos; at = path.find('/', at + 1))
    folders.push_back(path.substr(0, at));
  return folders;
}

SnapshotManifest by_path(SnapshotManifest manifest) {
  std::sort(manifest.begin(), manifest.end(),
            [](const SnapshotEntry& a, const SnapshotEntry& b) { return a.path < b.path; });
  return manifest;
}

// Of two manifests in the order of their paths.
SnapshotManifest not_in(const SnapshotManifest& other, const SnapshotManifest& manifest) {
  SnapshotManifest rest;
  auto at = other.begin();
  for (const SnapshotEntry& entry : manifest) {
    while (at != other.end() && at->path < entry.path) ++at;
    if (at == other.end() || *at != entry) rest.push_back(entry);
  }
  return rest;
}

}  // namespace

SnapshotChange snapshot_change(const SnapshotManifest& from, const SnapshotManifest& to) {
  const SnapshotManifest before = by_path(from);
  const SnapshotManifest after = by_path(to);
  Paths folders;
  for (const SnapshotEntry& entry : after)
    for (const std::string_view folder : folders_of(entry.path)) folders.emplace(folder);
  Paths gone;
  for (const SnapshotEntry& entry : not_in(after, before)) {
    const std::vector<std::string_view> above = folders_of(entry.path);
    const auto highest = std::find_if(above.begin(), above.end(), [&](std::string_view folder) {
      return !folders.contains(folder);
    });
    gone.emplace(highest != above.end() ? *highest : std::string_view(entry.path));
  }
  return {{gone.begin(), gone.end()}, not_in(before, after)};
}

}  // namespace tutti
