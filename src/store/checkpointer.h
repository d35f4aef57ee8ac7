#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace tutti {

// Copies what the write-ahead log of a database holds into its file. That waits for the disk, which
// no round should, so a thread of its own does it, over a connection of its own. Owned by the
// store.
class Checkpointer {
 public:
  explicit Checkpointer(std::string path) : path_(std::move(path)) {}
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // The log has this many pages now. The writer's thread; does not wait. False: the log has become
  // so long that the writer should copy it itself, which is the only way to begin it anew while
  // writing never pauses.
  bool grown(int pages);

 private:
  void run();

  const std::string path_;
  int asked_at_ = 0;  // pages when the thread was last asked; the writer's thread only
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false;
  bool over_ = false;
  std::thread thread_;  // since it was first needed
};

}  // namespace tutti
