#include "exec/local/workdirs.h"

#include <unistd.h>

#include "exec/keeper/folders.h"

namespace tutti {

Workdirs::Workdirs(std::string home, Done done) : home_(std::move(home)), done_(std::move(done)) {}

Workdirs::~Workdirs() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Workdirs::is_ready(JobId job) const {
  return access(folder_of(job).c_str(), F_OK) == 0;
}

void Workdirs::make(JobId job, std::string snapshot) {
  const std::lock_guard lock(mutex_);
  wanted_.emplace_back(job, std::move(snapshot));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

void Workdirs::run() {
  for (;;) {
    std::pair<JobId, std::string> next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !wanted_.empty(); });
      if (stop_) return;
      next = std::move(wanted_.front());
      wanted_.pop_front();
    }
    Result<void> made = make_private_folder(home_ + "/work");
    if (made) made = SnapshotFolder(home_).materialise(next.second, folder_of(next.first));
    done_(next.first, made);
  }
}

}  // namespace tutti
