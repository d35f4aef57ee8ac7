#include "store/checkpointer.h"

#include "store/sqlite.h"

namespace tutti {
namespace {

constexpr int kPagesApart = 2000;
constexpr int kMostPages = 2 * kPagesApart;

}  // namespace

Checkpointer::~Checkpointer() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool Checkpointer::grown(int pages) {
  if (pages < asked_at_) asked_at_ = 0;  // it was begun anew
  if (pages >= kMostPages) return false;
  if (pages < asked_at_ + kPagesApart) return true;
  asked_at_ = pages;
  {
    const std::lock_guard lock(mutex_);
    wanted_ = true;
  }
  changed_.notify_one();
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  return true;
}

void Checkpointer::run() {
  // If it cannot be opened or copied, the log just grows; the writer meets the same trouble, and
  // tells it.
  auto connection = Connection::open(path_, Connection::Mode::kReadWrite);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return wanted_ || over_; });
      if (over_) return;
      wanted_ = false;
    }
    if (!connection) continue;
    // A connection knows of the log when it has read something.
    if ((*connection)->number("PRAGMA user_version")) (*connection)->copy_log();
  }
}

}  // namespace tutti
