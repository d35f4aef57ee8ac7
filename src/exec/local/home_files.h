#pragma once

#include <set>
#include <string>
#include <utility>

#include "control/prune.h"
#include "exec/local/snapshot.h"

namespace tutti {

// HomeFiles of one home: output in logs/ under the names that default_log_path() gives, work
// directories in work/, and snapshots. Used by the thread of the prune.
class LocalHomeFiles final : public HomeFiles {
 public:
  LocalHomeFiles(std::string home, SnapshotFolder& snapshots)
      : home_(std::move(home)), snapshots_(snapshots) {}

  Result<Files> remove_of(const Test& gone, const Removal& removal) override;
  Result<Files> remove_snapshots(const std::set<std::string>& needed,
                                 const Removal& removal) override {
    return snapshots_.prune(needed, removal);
  }

 private:
  const std::string home_;
  SnapshotFolder& snapshots_;
};

}  // namespace tutti
