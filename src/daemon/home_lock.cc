#include "daemon/home_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

namespace tutti {
namespace {

constexpr std::chrono::seconds kKeeperEnds(5);

std::string owner_of(int fd) {
  std::array<char, 32> text{};
  const ssize_t read = ::pread(fd, text.data(), text.size() - 1, 0);
  std::string pid(text.data(), read > 0 ? static_cast<std::size_t>(read) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  return pid;
}

}  // namespace

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

// One that has nothing to keep ends when its daemon does, which may have been a moment ago.
Result<void> await_end_of_keeper(const std::string& home) {
  const std::string path = home + "/run/keeper.lock";
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT) return {};
  if (!fd) return io_error(fmt::format("cannot open {}", path), errno);
  const auto until = std::chrono::steady_clock::now() + kKeeperEnds;
  while (::flock(fd.get(), LOCK_SH | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return io_error(fmt::format("cannot lock {}", path), errno);
    if (std::chrono::steady_clock::now() > until)
      return conflict(fmt::format(
          "there is no {0}/tutti.db, but jobs of an earlier one still run under the keeper (pid "
          "{1}): put that database back, or end them with 'kill {1}' to begin with an empty one",
          home, owner_of(fd.get())));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

}  // namespace tutti
