#include "base/lock_holder.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace tutti {
namespace {

// The file is closed again: otherwise this process itself would have it open.
std::int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? number : 0;
}

}  // namespace

std::int64_t lock_holder(const std::string& path) {
  const std::int64_t pid = number_in(path);
  struct stat lock {};
  if (pid <= 0 || ::stat(path.c_str(), &lock) != 0) return 0;
  namespace fs = std::filesystem;
  std::error_code failure;
  fs::directory_iterator entry("/proc/" + std::to_string(pid) + "/fd", failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    struct stat open {};
    if (::stat(entry->path().c_str(), &open) != 0) continue;
    if (open.st_dev == lock.st_dev && open.st_ino == lock.st_ino) return pid;
  }
  return 0;
}

}  // namespace tutti
