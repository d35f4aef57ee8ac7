#include "exec/local/remove_file.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace tutti {

namespace fs = std::filesystem;

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code failed;
  fs::directory_iterator entries(folder, failed);
  for (const fs::directory_iterator end; !failed && entries != end; entries.increment(failed))
    paths.push_back(entries->path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Files remove_file(const fs::path& path, const struct stat& status, const Removal& removal) {
  if (!removal.dry_run && unlink(path.c_str()) != 0) return {.stuck = 1};
  return {.count = 1, .bytes = static_cast<std::uint64_t>(status.st_blocks) * 512};
}

}  // namespace tutti
