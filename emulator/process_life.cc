#include "emulator/process_life.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>

#include "base/unique_fd.h"

namespace tutti::emulator {
namespace {

// One read of /proc/PID/stat. Plain value.
struct Stat {
  char state = 'X';
  std::uint64_t start_time = 0;
};

Stat read_stat(pid_t pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  char text[1024];
  const ssize_t size = ::read(file.get(), text, sizeof text - 1);
  if (size <= 0) return {};
  text[size] = '\0';
  // The command's name, the second field, may hold anything, also parentheses.
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] != ' ') return {};
  Stat stat;
  stat.state = at[2];
  // After the name comes field 3; the start time is field 22.
  at += 2;
  for (int field = 3; field < 22; ++field) {
    at = std::strchr(at, ' ');
    if (at == nullptr) return {};
    ++at;
  }
  stat.start_time = std::strtoull(at, nullptr, 10);
  return stat;
}

// Opening a pidfd costs ten times as much as asking it, and the same few are asked again and again.
constexpr std::size_t kWatched = 64;

// A process and the descriptor that tells of its end. Nobody when default-made.
class Watched {
 public:
  Watched() = default;
  explicit Watched(pid_t pid)
      : pid_(pid), descriptor_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {
    if (!descriptor_) error_ = errno;
  }

  pid_t pid() const { return pid_; }

  bool has_ended() const {
    if (descriptor_) {
      pollfd ended{descriptor_.get(), POLLIN, 0};
      return ::poll(&ended, 1, 0) == 1;
    }
    if (error_ == ESRCH) return true;
    // No pidfd here (old kernel, filter, descriptors used up): ask the slow way.
    const char state = read_stat(pid_).state;
    return state == 'Z' || state == 'X';
  }

 private:
  pid_t pid_ = 0;
  int error_ = ESRCH;
  UniqueFd descriptor_;
};

}  // namespace

std::uint64_t start_time_of(pid_t pid) {
  return read_stat(pid).start_time;
}

std::uint64_t own_start_time() {
  static std::atomic<pid_t> known_pid{0};
  static std::atomic<std::uint64_t> known_start{0};
  const pid_t pid = ::getpid();
  if (known_pid.load() != pid) {
    known_start = start_time_of(pid);
    known_pid = pid;
  }
  return known_start;
}

bool has_ended(pid_t pid) {
  // After a fork in a program with threads the lock may stay taken; then the slower way is right.
  static std::mutex mutex;
  const std::unique_lock held(mutex, std::try_to_lock);
  if (!held) return Watched(pid).has_ended();
  static std::array<Watched, kWatched> watched;
  Watched& place = watched[static_cast<std::size_t>(pid) % kWatched];
  if (place.pid() == pid && !place.has_ended()) return false;
  // Nobody yet, another process, or an earlier one with this pid.
  place = Watched(pid);
  const bool ended = place.has_ended();
  if (ended) place = Watched();
  return ended;
}

std::uint64_t monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace tutti::emulator
