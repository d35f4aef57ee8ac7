#pragma once

#include <string>
#include <vector>

#include "control/snapshots.h"

namespace tutti {

// How one snapshot becomes another: first what is gone is removed, with all that is below it, then
// what is new is added.
struct SnapshotChange {
  std::vector<std::string> gone;
  SnapshotManifest added;
};

SnapshotChange snapshot_change(const SnapshotManifest& from, const SnapshotManifest& to);

}  // namespace tutti
