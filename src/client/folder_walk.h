#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/snapshot.h"

namespace tutti {

// What a snapshot of `folder` takes (list_snapshot), without the digests: no content is read.
Result<std::vector<SnapshotFile>> walk_folder(const std::string& folder,
                                              const SnapshotChoice& choice);

}  // namespace tutti
