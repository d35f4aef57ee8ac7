#include "exec/local/workdirs.h"

#include <unistd.h>

#include "base/sha256.h"
#include "exec/keeper/folders.h"

namespace tutti {
namespace {

constexpr char kOriginSuffix[] = ".of";

}  // namespace

Workdirs::Workdirs(std::string home, Done done) : home_(std::move(home)), done_(std::move(done)) {}

Workdirs::~Workdirs() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Workdirs::is_ready(JobId job, const std::string& snapshot) const {
  const std::string folder = folder_of(job);
  if (access(folder.c_str(), F_OK) != 0) return false;
  // None of an older program, and after a power cut perhaps an empty one: no other is known, then.
  const Result<std::string> origin = read_small_file(folder + kOriginSuffix);
  return !origin || !is_sha256(*origin) || *origin == snapshot;
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
    done_(next.first, make_folder(next.first, next.second));
  }
}

Result<void> Workdirs::make_folder(JobId job, const std::string& snapshot) const {
  if (is_ready(job, snapshot)) return {};
  if (Result<void> made = make_private_folder(home_ + "/work"); !made) return made;
  const std::string folder = folder_of(job);
  if (access(folder.c_str(), F_OK) == 0)
    if (const Result<std::string> aside = set_aside(folder); !aside) return aside.error();
  Result<void> noted = replace_file(folder + kOriginSuffix, snapshot, false);
  return noted ? SnapshotFolder(home_).materialise(snapshot, folder) : noted;
}

}  // namespace tutti
