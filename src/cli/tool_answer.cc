#include "cli/tool_answer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "base/spawn.h"
#include "base/unique_fd.h"

namespace tutti {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 20;

// True: everybody has closed it. False: the time is over.
bool read_all(int fd, Duration limit, std::string& text) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::microseconds(limit.value);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd waiting{fd, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) return false;
    std::array<char, 4096> chunk{};
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    if (text.size() < kMostText) text.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<ToolAnswer> ask_tool(const std::vector<std::string>& argv, Duration limit) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return io_error("cannot make a pipe", errno);
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  const Result<pid_t> child = spawn(argv, -1, to.get(), to.get(), true);
  if (!child) return child.error();
  to.reset();
  ToolAnswer answer;
  const bool ended = read_all(from.get(), limit, answer.text);
  if (!ended) ::kill(-*child, SIGKILL);
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return answer;
}

}  // namespace tutti
