#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "control/front.h"
#include "control/prune.h"

namespace tutti {

// Forgets what is past: reads which jobs may go, has the controller drop their rows in steps, and
// removes the files of jobs that have no row, also those that an earlier prune did not come to. One
// prune at a time, on a thread of its own that exists once there was one. Owned by the daemon;
// prune() may be called from any thread.
class PruneDesk {
 public:
  using Open = std::function<Result<std::unique_ptr<PruneSource>>(GoesOn)>;

  PruneDesk(Front& front, HomeFiles& files, Open open)
      : front_(front), files_(files), open_(std::move(open)) {}
  ~PruneDesk() { stop(); }
  PruneDesk(const PruneDesk&) = delete;
  PruneDesk& operator=(const PruneDesk&) = delete;

  // The reply comes on this object's thread.
  void prune(PruneRequest request, Reply<Pruned> reply);
  // Leaves off where it is, and answers whoever waits. To be destroyed when no thread runs the
  // controller any more, which may still answer.
  void stop();

 private:
  void run();
  Result<Pruned> carry_out(const PruneRequest& request);
  Result<void> forget(const std::vector<Prunable::Finished>& jobs, TimePoint before);
  Result<void> forget_rest(const Remaining& remaining);
  Result<void> take_step(const PruneStep& step);
  bool is_stopped();

  Front& front_;
  HomeFiles& files_;
  const Open open_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<PruneRequest, Reply<Pruned>>> wanted_;  // guarded by mutex_
  bool stop_ = false;                                          // guarded by mutex_
  std::thread thread_;
};

}  // namespace tutti
