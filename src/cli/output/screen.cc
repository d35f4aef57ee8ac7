#include "cli/output/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>

#include "base/result.h"

namespace tutti {
namespace {

const char* code_of(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\033[1m";
    case Style::kDim:
      return "\033[2m";
    case Style::kGreen:
      return "\033[32m";
    case Style::kRed:
      return "\033[31m";
    case Style::kYellow:
      return "\033[33m";
    case Style::kCyan:
      return "\033[36m";
  }
  return "";
}

// 0, or why it was not written.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

bool colour_wanted() {
  const char* forbidden = std::getenv("NO_COLOR");
  if (forbidden != nullptr && *forbidden != '\0') return false;
  const char* terminal = std::getenv("TERM");
  return terminal == nullptr || std::string_view(terminal) != "dumb";
}

}  // namespace

std::string Screen::styled(Style style, std::string_view text) const {
  if (!colour() || style == Style::kPlain) return std::string(text);
  return std::string(code_of(style)) + std::string(text) + "\033[0m";
}

ProcessScreen::ProcessScreen()
    : out_terminal_(::isatty(STDOUT_FILENO) == 1),
      err_terminal_(::isatty(STDERR_FILENO) == 1),
      colour_(out_terminal_ && colour_wanted()) {}

void ProcessScreen::out(std::string_view text) {
  if (out_failure_ != 0) return;
  out_failure_ = write_all(STDOUT_FILENO, text);
  if (out_failure_ == 0 || out_failure_ == EPIPE) return;
  err(io_error("tutti: cannot write to stdout", out_failure_).message + "\n");
}

void ProcessScreen::err(std::string_view text) {
  if (const int failure = write_all(STDERR_FILENO, text); failure != 0) err_failure_ = failure;
}

bool ProcessScreen::nobody_reads() const {
  return out_failure_ == EPIPE || err_failure_ == EPIPE;
}

bool ProcessScreen::in_is_terminal() const {
  return ::isatty(STDIN_FILENO) == 1;
}

int ProcessScreen::width() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return out_terminal_ || err_terminal_ ? 80 : 0;
}

int ProcessScreen::height() const {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

std::string ProcessScreen::ask(std::string_view question) {
  err(question);
  std::string line;
  std::getline(std::cin, line);
  return line;
}

}  // namespace tutti
