#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "client/gpu_views.h"
#include "client/views.h"

namespace tutti {

// One finding of `tutti doctor`.
struct Finding {
  enum class Level { kOk, kWarn, kFail };
  Level level = Level::kOk;
  std::string name;
  std::string detail;  // what was found, and what to do about it
};

// "ok", "warn", "fail".
const char* level_name(Finding::Level level);

// The home folder: there, writable, with room.
std::vector<Finding> check_home(const std::string& home);
// The socket and its mode.
std::vector<Finding> check_socket(const std::string& home);
// The daemon as it describes itself, or why it does not answer.
std::vector<Finding> check_daemon(const Result<StatusView>& status, TimePoint now);
// A keeper that runs and cannot be reached; otherwise nothing.
std::vector<Finding> check_keeper(const std::string& home);
// Why no daemon runs, or that nothing keeps one from starting. `database`: whether it could be
// opened.
std::vector<Finding> check_no_daemon(const std::string& home, const Result<void>& database);
// The container runtimes of this machine: which, what version, and what does not work.
std::vector<Finding> check_containers();
// The GPUs as the running daemon sees them.
Finding check_gpus(const Result<GpusView>& gpus);
// The clock: a plausible year, and nothing in the home from the future.
std::vector<Finding> check_clock(const std::string& home, TimePoint now);
// Descriptors of the daemon with this pid (0: none runs here), a shell, and whether processes
// outlive the login.
std::vector<Finding> check_system(std::int64_t daemon);

}  // namespace tutti
