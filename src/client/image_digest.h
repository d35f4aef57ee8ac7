#pragma once

#include <string>

#include "base/result.h"
#include "core/model/container.h"

namespace tutti {

// What an image is built from, as one digest of 24 hexadecimal digits: every file, link and mode of
// the context that its .dockerignore (or the Dockerfile's own) does not leave out, the Dockerfile,
// the target and the arguments. `.git` does not count. `digests`: as in SnapshotChoice.
Result<std::string> image_digest(const ImageBuild& build, const std::string& digests);

}  // namespace tutti
