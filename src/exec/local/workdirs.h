#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/home.h"
#include "base/result.h"
#include "core/model/ids.h"
#include "exec/local/snapshot.h"

namespace tutti {

// Makes jobs' work directories from their snapshots, in a thread of its own that exists only once
// there was one to make. Beside each is a note of the snapshot: where an older database was
// restored, the folder may be that of another job which had the number. Owned by the local
// executor.
class Workdirs {
 public:
  using Done = std::function<void(JobId, const Result<void>&)>;

  // `done` is called on this object's thread.
  Workdirs(std::string home, Done done);
  ~Workdirs();
  Workdirs(const Workdirs&) = delete;
  Workdirs& operator=(const Workdirs&) = delete;

  std::string folder_of(JobId job) const { return work_path(home_, job.value); }
  // Whether it is there, made from that snapshot.
  bool is_ready(JobId job, const std::string& snapshot) const;
  void make(JobId job, std::string snapshot);

 private:
  void run();
  Result<void> make_folder(JobId job, const std::string& snapshot) const;

  const std::string home_;
  const Done done_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<JobId, std::string>> wanted_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tutti
