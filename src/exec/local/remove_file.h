#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "control/prune.h"

namespace tutti {

// What both kinds of files that a prune removes have in common. Any thread.

// What is in a folder, by name, as far as that can be read; nothing: it is not there.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

// Removes a file, of which `status` tells, or counts it only.
Files remove_file(const std::filesystem::path& path, const struct stat& status,
                  const Removal& removal);

}  // namespace tutti
