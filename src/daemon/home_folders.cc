#include "daemon/home_folders.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "daemon/home_lock.h"
#include "exec/keeper/folders.h"

namespace tutti {

namespace fs = std::filesystem;

Result<void> make_home(const std::string& home) {
  for (const char* below : {"", "/run", "/logs", "/state"}) {
    const std::string path = home + below;
    std::error_code error;
    fs::create_directories(path, error);
    if (error)
      return io_error(
          fmt::format("cannot create {} (set TUTTI_HOME to a folder that you may write)", path),
          error.value());
  }
  if (::chmod((home + "/run").c_str(), 0700) != 0 || ::chmod((home + "/logs").c_str(), 0700) != 0)
    return io_error(fmt::format("cannot make {} private", home), errno);
  return {};
}

Result<std::vector<std::string>> set_former_jobs_aside(const std::string& home) {
  if (Result<void> alone = await_end_of_keeper(home); !alone) return alone.error();
  std::vector<std::string> aside;
  for (const char* below : {"/logs", "/work"}) {
    std::error_code error;
    if (!fs::exists(home + below, error) || fs::is_empty(home + below, error)) continue;
    Result<std::string> renamed = set_aside(home + below);
    if (!renamed) return renamed.error();
    aside.push_back(std::move(*renamed));
  }
  if (Result<void> made = make_home(home); !made) return made.error();
  return aside;
}

}  // namespace tutti
