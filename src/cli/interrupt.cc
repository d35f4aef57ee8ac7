#include "cli/interrupt.h"

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "base/check.h"

namespace tutti {
namespace {

std::atomic<int> wake_fd{-1};

void on_signal(int signal) {
  const int saved = errno;
  const char byte = static_cast<char>(signal);
  const ssize_t written = ::write(wake_fd.load(), &byte, 1);
  static_cast<void>(written);
  errno = saved;
}

void install(void (*action)(int)) {
  struct sigaction settings {};
  settings.sa_handler = action;
  sigemptyset(&settings.sa_mask);
  ::sigaction(SIGINT, &settings, nullptr);
  ::sigaction(SIGTERM, &settings, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  int ends[2];
  TUTTI_CHECK(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  read_ = UniqueFd(ends[0]);
  write_ = UniqueFd(ends[1]);
  TUTTI_CHECK(wake_fd.exchange(write_.get()) == -1);
  install(on_signal);
}

Interrupt::~Interrupt() {
  install(SIG_DFL);
  wake_fd.store(-1);
}

int Interrupt::take() {
  char byte = 0;
  while (::read(read_.get(), &byte, 1) > 0) continue;
  return byte;
}

}  // namespace tutti
