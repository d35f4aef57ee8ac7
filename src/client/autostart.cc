#include "client/autostart.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/home.h"
#include "base/lock_holder.h"

extern char** environ;

namespace tutti {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);

std::string lock_path(const std::string& home) {
  return home + "/run/daemon.lock";
}

Result<UniqueFd> open_log(const std::string& home) {
  std::error_code failure;
  std::filesystem::create_directories(home, failure);
  if (failure) {
    return io_error(fmt::format("cannot create the home folder {}", home), failure.value());
  }
  const std::string path = daemon_log_path(home);
  UniqueFd log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log) return io_error("cannot write the daemon's log " + path, errno);
  return log;
}

// The child: a new session, no terminal, no descriptor of ours but the log.
[[noreturn]] void become_daemon(int log, const char* program, char* const* argv) {
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, 0);
  ::dup2(log, 1);
  ::dup2(log, 2);
  ::closefrom(3);
  if (::chdir("/") != 0) ::_exit(126);
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(program, argv, environ);
  ::_exit(127);
}

Result<pid_t> spawn(const Endpoint& endpoint, const std::string& program,
                    const std::vector<std::string>& extra) {
  auto log = open_log(endpoint.home);
  if (!log) return log.error();
  std::vector<std::string> arguments = {"tutti", "daemon", "run", "--home", endpoint.home};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return io_error("cannot start the daemon", errno);
  if (child == 0) become_daemon(log->get(), program.c_str(), argv.data());
  return child;
}

// What daemons before this one wrote, the first `before` bytes, would only mislead.
Error gave_up(const Endpoint& endpoint, std::string_view how, std::uintmax_t before) {
  const std::string log = daemon_log_path(endpoint.home);
  const std::string tail = last_lines(log, 5, before);
  return {ErrorCode::kUnavailable, fmt::format("the daemon {}{}", how,
                                               tail.empty() ? " and wrote nothing to its log " + log
                                                            : "; its log ends:\n" + tail)};
}

}  // namespace

Result<void> start_daemon(const Endpoint& endpoint, const std::string& program,
                          const std::vector<std::string>& extra) {
  if (const auto lost = lost_socket(endpoint)) return *lost;
  std::error_code none;
  const std::uintmax_t size = std::filesystem::file_size(daemon_log_path(endpoint.home), none);
  const std::uintmax_t before = none ? 0 : size;
  auto child = spawn(endpoint, program, extra);
  if (!child) return child.error();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  bool gone = false;
  bool last_try = false;
  for (int pause_ms = 2;; pause_ms = std::min(pause_ms * 2, 50)) {
    if (auto fd = connect_to(endpoint)) return {};
    if (last_try) return gave_up(endpoint, "ended at once", before);
    // When two verbs start a daemon at once, one of the two ends: the other's socket is as good,
    // but may need a moment. Its lock is not tried: that could turn it away while it starts.
    last_try = gone && daemon_pid(endpoint.home) == 0;
    if (last_try) continue;
    if (std::chrono::steady_clock::now() > deadline) {
      return gave_up(endpoint, "was started but does not answer", before);
    }
    ::poll(nullptr, 0, pause_ms);
    int status = 0;
    gone = gone || ::waitpid(*child, &status, WNOHANG) == *child;
  }
}

std::int64_t daemon_pid(const std::string& home) {
  return lock_holder(lock_path(home));
}

std::optional<Error> lost_socket(const Endpoint& endpoint) {
  struct stat status {};
  if (!endpoint.local() || ::lstat(endpoint.socket.c_str(), &status) == 0) return std::nullopt;
  const std::int64_t pid = daemon_pid(endpoint.home);
  if (pid == 0 || ::stat(lock_path(endpoint.home).c_str(), &status) != 0) return std::nullopt;
  const auto begun = std::chrono::system_clock::from_time_t(status.st_mtim.tv_sec);
  if (std::chrono::system_clock::now() - begun < kPatience) return std::nullopt;
  return Error{
      ErrorCode::kConflict,
      fmt::format("the daemon (pid {}) runs, but its socket {} was removed, so that nobody "
                  "can reach it; run 'kill {}': the next verb starts another, and running "
                  "jobs go on",
                  pid, endpoint.socket, pid)};
}

void remember_arguments(const std::string& home, const std::vector<std::string>& extra) {
  std::ofstream file(home + "/daemon.arguments", std::ios::trunc);
  for (const std::string& argument : extra) file << argument << '\n';
}

std::vector<std::string> remembered_arguments(const std::string& home) {
  std::vector<std::string> extra;
  std::ifstream file(home + "/daemon.arguments");
  for (std::string line; std::getline(file, line);) extra.push_back(line);
  return extra;
}

std::string own_program() {
  std::error_code failure;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failure);
  // An upgraded binary is shown as "PATH (deleted)"; the link itself still works.
  if (failure || !std::filesystem::exists(path, failure)) return "/proc/self/exe";
  return path.string();
}

bool autostart_forbidden() {
  const char* value = std::getenv("TUTTI_NO_AUTOSTART");
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

std::string last_lines(const std::string& path, std::size_t lines, std::uintmax_t from) {
  constexpr std::streamoff kMost = 8192;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  file.seekg(std::clamp<std::streamoff>(static_cast<std::streamoff>(from),
                                        std::max<std::streamoff>(0, size - kMost), size));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::size_t at = text.size();
  while (lines > 0 && at != std::string::npos && at > 0) {
    at = text.rfind('\n', at - 1);
    --lines;
  }
  return at == std::string::npos || at == 0 ? text : text.substr(at + 1);
}

}  // namespace tutti
