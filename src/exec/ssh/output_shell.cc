#include "exec/ssh/output_shell.h"

#include <algorithm>
#include <utility>

#include "base/random_word.h"
#include "exec/ssh/shell_quote.h"

namespace tutti {
namespace {

// Enough to keep the shell busy.
constexpr std::size_t kMostAsked = 8;

}  // namespace

void OutputShell::read(std::string path, std::uint64_t offset, Done done) {
  wanted_.push_back({std::move(path), offset, std::move(done)});
  ask();
}

TimePoint OutputShell::rest(TimePoint now) {
  if (!process_.running() || !idle()) {
    idle_since_ = TimePoint();
    return {};
  }
  if (!idle_since_) idle_since_ = now;
  if (now < idle_since_ + kRest) return idle_since_ + kRest;
  close(true);
  return {};
}

void OutputShell::close(bool forget) {
  idle_since_ = TimePoint();
  process_ = PipedProcess();
  greeted_ = false;
  seen_ = 0;
  if (forget) {
    wanted_.clear();
    asked_.clear();
    return;
  }
  wanted_.insert(wanted_.begin(), std::make_move_iterator(asked_.begin()),
                 std::make_move_iterator(asked_.end()));
  asked_.clear();
}

bool OutputShell::start() {
  auto started = PipedProcess::start(command_.session("exec /bin/sh"));
  if (!started) return false;
  process_ = std::move(*started);
  mark_ = "\ntutti-" + random_word() + "\n";
  process_.send("tutti_mark() { printf '\\n%s\\n' " + mark_.substr(1, mark_.size() - 2) +
                "; }; tutti_mark\n");
  return true;
}

void OutputShell::ask() {
  if (wanted_.empty()) return;
  if (!process_.running() && !start()) return;
  while (!wanted_.empty() && asked_.size() < kMostAsked) {
    Piece piece = std::move(wanted_.front());
    wanted_.pop_front();
    process_.send("tail -c +" + std::to_string(piece.offset + 1) + " " + shell_quoted(piece.path) +
                  " 2>/dev/null </dev/null | head -c " + std::to_string(kPiece) + "; tutti_mark\n");
    asked_.push_back(std::move(piece));
  }
}

bool OutputShell::serve(const pollfd* polled) {
  if (!process_.running()) {
    ask();
    return true;
  }
  process_.serve(polled);
  take();
  if (!process_.output_ended()) return true;
  process_.end();
  close(false);
  return false;
}

void OutputShell::take() {
  std::string& text = process_.output;
  while (true) {
    const std::size_t end = text.find(mark_, seen_);
    if (end == text.npos) {
      seen_ = text.size() - std::min(text.size(), mark_.size());
      return;
    }
    if (!std::exchange(greeted_, true)) {
      text.erase(0, end + mark_.size());
      seen_ = 0;
      continue;
    }
    if (asked_.empty()) return;
    const std::string bytes = text.substr(0, end);
    text.erase(0, end + mark_.size());
    seen_ = 0;
    const Piece piece = std::move(asked_.front());
    asked_.pop_front();
    ask();
    piece.done(bytes);
  }
}

}  // namespace tutti
