#include "daemon/home_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace tutti {
namespace {

std::string owner_of(int fd) {
  std::array<char, 32> text{};
  const ssize_t read = ::pread(fd, text.data(), text.size() - 1, 0);
  std::string pid(text.data(), read > 0 ? static_cast<std::size_t>(read) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  return pid;
}

}  // namespace

Result<void> make_home(const std::string& home) {
  for (const char* below : {"", "/run", "/logs", "/state"}) {
    const std::string path = home + below;
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error)
      return io_error(
          fmt::format("cannot create {} (set TUTTI_HOME to a folder that you may write)", path),
          error.value());
  }
  if (::chmod((home + "/run").c_str(), 0700) != 0 || ::chmod((home + "/logs").c_str(), 0700) != 0)
    return io_error(fmt::format("cannot make {} private", home), errno);
  return {};
}

Result<std::string> set_logs_aside(const std::string& home) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_empty(home + "/logs", error)) return std::string();
  std::string aside;
  for (int number = 1; aside.empty() || fs::exists(aside, error); ++number)
    aside = fmt::format("{}/logs.{}", home, number);
  fs::rename(home + "/logs", aside, error);
  if (error) return io_error(fmt::format("cannot rename {}/logs", home), error.value());
  if (const Result<void> made = make_home(home); !made) return made.error();
  return aside;
}

Result<HomeLock> HomeLock::take(const std::string& home) {
  const std::string path = home + "/run/daemon.lock";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return io_error(fmt::format("cannot open {}", path), errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return io_error(fmt::format("cannot lock {}", path), errno);
    return conflict(
        fmt::format("another daemon (pid {}) already serves {}; use that one, or stop it with "
                    "'tutti daemon stop'",
                    owner_of(fd.get()), home));
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd.get(), 0) != 0 ||
      ::pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()))
    return io_error(fmt::format("cannot write {}", path), errno);
  return HomeLock(std::move(fd));
}

}  // namespace tutti
