#include "client/autostart.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/home.h"

extern char** environ;

namespace tutti {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);

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

Error gave_up(const Endpoint& endpoint, std::string_view how) {
  const std::string log = daemon_log_path(endpoint.home);
  const std::string tail = last_lines(log, 5);
  return {ErrorCode::kUnavailable, fmt::format("the daemon {}{}", how,
                                               tail.empty() ? "; its log " + log + " is empty"
                                                            : "; its log ends:\n" + tail)};
}

// Whether the daemon that took the home's lock last is alive. The lock itself is not tried: that
// could turn away a daemon that is just starting.
bool another_daemon_lives(const std::string& home) {
  std::ifstream lock(home + "/run/daemon.lock");
  pid_t owner = 0;
  return lock >> owner && owner > 0 && (::kill(owner, 0) == 0 || errno == EPERM);
}

}  // namespace

Result<void> start_daemon(const Endpoint& endpoint, const std::string& program,
                          const std::vector<std::string>& extra) {
  auto child = spawn(endpoint, program, extra);
  if (!child) return child.error();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  bool gone = false;
  bool last_try = false;
  for (int pause_ms = 2;; pause_ms = std::min(pause_ms * 2, 50)) {
    if (auto fd = connect_to(endpoint)) return {};
    if (last_try) return gave_up(endpoint, "ended at once");
    // When two verbs start a daemon at once, one of the two ends: the other's socket is as good,
    // but may need a moment.
    last_try = gone && !another_daemon_lives(endpoint.home);
    if (last_try) continue;
    if (std::chrono::steady_clock::now() > deadline) {
      return gave_up(endpoint, "was started but does not answer");
    }
    ::poll(nullptr, 0, pause_ms);
    int status = 0;
    gone = gone || ::waitpid(*child, &status, WNOHANG) == *child;
  }
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

std::string last_lines(const std::string& path, std::size_t lines) {
  constexpr std::streamoff kMost = 8192;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kMost));
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
