#include "exec/local/keeper_process.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sstream>
#include <string_view>

#include "base/process_stat.h"
#include "exec/keeper/folders.h"
#include "exec/keeper/link.h"
#include "exec/keeper/processes.h"
#include "telemetry/monotonic.h"

namespace tutti {
namespace {

constexpr std::int64_t kStartUs = 10 * 1000 * 1000;
constexpr std::int64_t kEndUs = 30 * 1000 * 1000;
constexpr std::size_t kReadAtOnce = 64u << 10;
// The line of a record with the keeper's process; folders begin with a slash.
constexpr std::string_view kPidLine = "pid ";
// In a keeper's command line, whose words end in zero bytes.
constexpr std::string_view kHomeOption("\0--home\0", 8);
constexpr std::size_t kMostWords = 64u << 10;

Error gone(const char* what) {
  return {ErrorCode::kUnavailable, what};
}

Result<void> wait_for(int fd, short events, int timeout_ms) {
  pollfd poll_fd{fd, events, 0};
  const std::int64_t until = monotonic_us() + std::int64_t{timeout_ms} * 1000;
  for (;;) {
    const std::int64_t left_ms = std::max<std::int64_t>(0, (until - monotonic_us()) / 1000);
    const int n = poll(&poll_fd, 1, static_cast<int>(left_ms));
    if (n > 0) return {};
    if (n == 0) return Error{ErrorCode::kTimeout, "the keeper does not answer"};
    if (errno != EINTR) return io_error("cannot wait for the keeper", errno);
  }
}

void redirect_to_null() {
  const int null = open("/dev/null", O_RDWR);
  if (null < 0) return;
  dup2(null, 0);
  dup2(null, 1);
  dup2(null, 2);
}

// Runs between fork() and execv() of a process with threads: system calls only.
[[noreturn]] void become_keeper(const KeeperPlace& place, char* const* argv) {
  setsid();
  if (fork() != 0) _exit(0);
  redirect_to_null();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  rlimit limit{};
  if (place.descriptors > 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = std::min<rlim_t>(place.descriptors, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  umask(place.umask);
  execv(place.binary.c_str(), argv);
  _exit(127);
}

Result<void> start_keeper(const KeeperPlace& place) {
  std::string words[] = {"tutti", "keeper", "--home", place.home};
  char* const argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                        nullptr};
  const pid_t child = fork();
  if (child < 0) return io_error("cannot start the keeper", errno);
  if (child == 0) become_keeper(place, argv);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {};
}

// The end of the keeper's log, for an error message.
std::string last_words(const std::string& home) {
  const Result<std::string> log = read_small_file(home + "/run/keeper.log");
  if (!log || log->empty()) return {};
  std::string_view text = *log;
  if (text.ends_with('\n')) text.remove_suffix(1);
  const std::size_t line = text.rfind('\n');
  return ": " + std::string(line == std::string_view::npos ? text : text.substr(line + 1));
}

// The process itself, not another that has its number now.
bool still_runs(const KeeperRecord& record) {
  const auto pid = static_cast<pid_t>(record.pid);
  return pid > 0 && !is_dead(pid) && start_ticks(pid) == record.birth;
}

}  // namespace

Result<FromKeeper> read_message(int fd, FrameBuffer& in, int timeout_ms) {
  Frame frame;
  for (;;) {
    const FrameBuffer::Next next = in.next(frame);
    if (next == FrameBuffer::Next::kFrame) return decode_from_keeper(frame);
    if (next == FrameBuffer::Next::kBroken) {
      return Error{ErrorCode::kCorrupt, "what answers at the keeper's socket is no keeper"};
    }
    if (Result<void> ready = wait_for(fd, POLLIN, timeout_ms); !ready) return ready.error();
    const ssize_t n = recv(fd, in.reserve(kReadAtOnce), kReadAtOnce, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return gone("the keeper has ended");
    in.commit(static_cast<std::size_t>(n));
  }
}

Result<void> send_frames(int fd, const std::string& frames, int timeout_ms) {
  for (std::size_t sent = 0; sent < frames.size();) {
    const ssize_t n =
        send(fd, frames.data() + sent, frames.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      sent += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {
      if (Result<void> ready = wait_for(fd, POLLOUT, timeout_ms); !ready) return ready.error();
    } else if (errno != EINTR) {
      return gone("the keeper has ended");
    }
  }
  return {};
}

Result<KeeperConnection> reach_keeper(const KeeperPlace& place) {
  Result<UniqueFd> fd = connect_to_keeper(place.home);
  if (!fd) return fd.error();
  std::string frames;
  append_frame(frames, Hello{});
  if (Result<void> sent = send_frames(fd->get(), frames, kKeeperAnswerMs); !sent)
    return sent.error();
  FrameBuffer in;
  Result<FromKeeper> answer = read_message(fd->get(), in, kKeeperAnswerMs);
  if (!answer) return answer.error();
  auto* welcome = std::get_if<Welcome>(&*answer);
  if (welcome == nullptr) return gone("what answers at the keeper's socket is no keeper");
  if (welcome->version < kOldestKeeperVersion || welcome->version > kKeeperVersion) {
    return Error{ErrorCode::kUnsupported,
                 "the keeper that runs speaks version " + std::to_string(welcome->version) +
                     ", which this program does not know; let its jobs end, then start again"};
  }
  return KeeperConnection{std::move(*fd), std::move(*welcome)};
}

Result<KeeperConnection> reach_or_start_keeper(const KeeperPlace& place,
                                               const std::atomic<bool>& stop) {
  if (Result<void> made = make_private_folder(place.home + "/run"); !made) return made.error();
  const std::int64_t until = monotonic_us() + kStartUs;
  std::int64_t start_at = 0;
  while (!stop) {
    Result<KeeperConnection> reached = reach_keeper(place);
    if (reached || reached.error().code != ErrorCode::kUnavailable) return reached;
    const std::int64_t now = monotonic_us();
    if (now >= until) {
      return Error{ErrorCode::kUnavailable, "cannot start the keeper" + last_words(place.home)};
    }
    if (now >= start_at) {
      if (Result<void> started = start_keeper(place); !started) return started.error();
      // One that ends as this one comes holds the lock for a moment.
      start_at = now + 500 * 1000;
    }
    const timespec pause{0, 1000 * 1000};
    nanosleep(&pause, nullptr);
  }
  return gone("the daemon is stopping");
}

bool serves_another_home(const KeeperRecord& record, const std::string& home) {
  if (!still_runs(record)) return false;
  const std::string words = read_proc(static_cast<pid_t>(record.pid), "cmdline", kMostWords);
  const std::size_t option = words.find(kHomeOption);
  if (option == std::string::npos) return false;
  // One folder has several names, and none that was moved has the one with which it began.
  const std::string named = words.c_str() + option + kHomeOption.size();
  struct stat its {};
  struct stat own {};
  if (stat(named.c_str(), &its) != 0 || stat(home.c_str(), &own) != 0) return false;
  return its.st_dev != own.st_dev || its.st_ino != own.st_ino;
}

void end_keeper(const KeeperRecord& record) {
  const std::int64_t until = monotonic_us() + kEndUs;
  while (still_runs(record) && monotonic_us() < until) {
    if (kill(static_cast<pid_t>(record.pid), SIGKILL) != 0) return;
    const timespec pause{0, 1000 * 1000};
    nanosleep(&pause, nullptr);
  }
}

Result<KeeperRecord> read_keeper_record(const std::string& home) {
  const std::string path = home + "/state/keeper";
  if (access(path.c_str(), F_OK) != 0) return not_found("no keeper has run here");
  const Result<std::string> text = read_small_file(path);
  if (!text) return text.error();
  std::istringstream lines(*text);
  KeeperRecord record;
  std::getline(lines, record.incarnation);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kPidLine)) {
      record.cgroups.push_back(line);
      continue;
    }
    std::istringstream numbers(line.substr(kPidLine.size()));
    numbers >> record.pid >> record.birth;
  }
  if (record.incarnation.size() != 32) {
    return Error{ErrorCode::kCorrupt, "the file '" + path + "' is damaged"};
  }
  return record;
}

Result<void> write_keeper_record(const std::string& home, const KeeperRecord& record) {
  if (Result<void> made = make_private_folder(home + "/state"); !made) return made;
  std::string text = record.incarnation + "\n";
  for (const std::string& folder : record.cgroups) text += folder + "\n";
  text += fmt::format("{}{} {}\n", kPidLine, record.pid, record.birth);
  return replace_file(home + "/state/keeper", text);
}

bool ended_clean(const std::string& home, const std::string& incarnation) {
  const Result<std::string> text = read_small_file(home + "/run/keeper.clean");
  return text && *text == incarnation;
}

}  // namespace tutti
