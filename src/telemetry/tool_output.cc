#include "telemetry/tool_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/spawn.h"
#include "base/unique_fd.h"
#include "telemetry/monotonic.h"

namespace tutti {
namespace {

// A started tool. Killed with its group and reaped with this object, unless it has ended.
class RunningTool {
 public:
  explicit RunningTool(pid_t pid) : pid_(pid) {}
  ~RunningTool() {
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  RunningTool(const RunningTool&) = delete;
  RunningTool& operator=(const RunningTool&) = delete;

  // False when it still runs at the deadline.
  bool wait(std::int64_t deadline_us, int* exit_code) {
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) != pid_) {
      if (monotonic_us() >= deadline_us) return false;
      const timespec pause{0, 1000000};
      nanosleep(&pause, nullptr);
    }
    pid_ = 0;
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
  }

 private:
  pid_t pid_;
};

Error took_too_long(const std::string& program, const ToolLimits& limits) {
  return {ErrorCode::kTimeout, program + " did not end within " +
                                   std::to_string(limits.time.value / 1000) +
                                   " ms and was killed: the driver may hang"};
}

Result<std::string> read_all(int fd, const std::string& program, const ToolLimits& limits,
                             std::int64_t deadline_us) {
  std::string text;
  std::array<char, 16384> part{};
  while (true) {
    const std::int64_t left = deadline_us - monotonic_us();
    if (left <= 0) return took_too_long(program, limits);
    pollfd wait{fd, POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(left / 1000) + 1) <= 0) continue;
    const ssize_t n = read(fd, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("cannot read what " + program + " writes", errno);
    if (n == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(n));
    if (text.size() > limits.bytes) {
      return Error{
          ErrorCode::kExhausted,
          program + " wrote more than " + std::to_string(limits.bytes) + " bytes and was killed"};
    }
  }
}

}  // namespace

Result<ToolOutput> run_tool(const std::string& program, const std::vector<std::string>& arguments,
                            const ToolLimits& limits) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return io_error("cannot make a pipe", errno);
  const UniqueFd output(ends[0]);
  UniqueFd input(ends[1]);
  const std::int64_t deadline = monotonic_us() + limits.time.value;
  std::vector<std::string> argv{program};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  // In a session of its own, so that nothing of it is left when it must be killed.
  const auto pid = spawn(argv, -1, input.get(), -1, true);
  if (!pid && pid.error().code == ErrorCode::kNotFound)
    return not_found(program + " is not installed");
  if (!pid) return pid.error();
  input.reset();
  RunningTool tool(*pid);
  auto text = read_all(output.get(), program, limits, deadline);
  if (!text) return text.error();
  ToolOutput result{0, std::move(*text)};
  if (!tool.wait(deadline, &result.exit_code)) return took_too_long(program, limits);
  return result;
}

}  // namespace tutti
