#include "exec/ssh/piped_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/spawn.h"

namespace tutti {
namespace {

constexpr std::size_t kRead = 64 * 1024;
constexpr std::size_t kMostErrors = 16 * 1024;

struct Pipe {
  UniqueFd reading;
  UniqueFd writing;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return io_error("cannot make a pipe", errno);
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

void make_nonblocking(const UniqueFd& fd) {
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

// Appends what is there; closes the descriptor at its end.
void read_into(UniqueFd& fd, std::string& text) {
  const std::size_t before = text.size();
  text.resize(before + kRead);
  const ssize_t n = ::read(fd.get(), text.data() + before, kRead);
  text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) fd.reset();
}

int status_of(int raw) {
  return WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
}

}  // namespace

Result<PipedProcess> PipedProcess::start(const std::vector<std::string>& argv) {
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  for (const auto* pipe : {&in, &out, &err}) {
    if (!*pipe) return pipe->error();
  }
  const Result<pid_t> pid =
      spawn(argv, in->reading.get(), out->writing.get(), err->writing.get(), true);
  if (!pid) return pid.error();
  PipedProcess made;
  made.pid_ = *pid;
  made.in_ = std::move(in->writing);
  made.out_ = std::move(out->reading);
  made.err_ = std::move(err->reading);
  for (const UniqueFd* fd : {&made.in_, &made.out_, &made.err_}) make_nonblocking(*fd);
  return made;
}

PipedProcess& PipedProcess::operator=(PipedProcess&& other) noexcept {
  if (this == &other) return *this;
  kill();
  pid_ = std::exchange(other.pid_, 0);
  in_ = std::move(other.in_);
  out_ = std::move(other.out_);
  err_ = std::move(other.err_);
  input_ = std::move(other.input_);
  sent_ = other.sent_;
  output = std::move(other.output);
  errors = std::move(other.errors);
  return *this;
}

void PipedProcess::send(std::string_view text) {
  input_ += text;
  flush();
}

void PipedProcess::flush() {
  while (in_ && sent_ < input_.size()) {
    const ssize_t n = ::write(in_.get(), input_.data() + sent_, input_.size() - sent_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) {
      in_.reset();  // it is gone; its output will say so
      break;
    }
    sent_ += static_cast<std::size_t>(n);
  }
  if (sent_ == input_.size() || !in_) {
    input_.clear();
    sent_ = 0;
  }
}

void PipedProcess::add_to(std::vector<pollfd>& polled) const {
  const bool writes = in_ && sent_ < input_.size();
  polled.push_back({writes ? in_.get() : -1, POLLOUT, 0});
  polled.push_back({out_.get(), POLLIN, 0});
  polled.push_back({err_.get(), POLLIN, 0});
}

void PipedProcess::serve(const pollfd* polled) {
  if (polled[0].revents != 0) flush();
  if (polled[1].revents != 0 && out_) read_into(out_, output);
  if (polled[2].revents != 0 && err_) {
    read_into(err_, errors);
    if (errors.size() > kMostErrors) errors.erase(0, errors.size() - kMostErrors);
  }
}

int PipedProcess::end() {
  if (pid_ <= 0) return 0;
  in_.reset();
  int raw = 0;
  while (::waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  while (err_) {
    const std::size_t before = errors.size();
    read_into(err_, errors);
    if (errors.size() == before) break;
  }
  out_.reset();
  err_.reset();
  return status_of(raw);
}

void PipedProcess::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  end();
}

}  // namespace tutti
