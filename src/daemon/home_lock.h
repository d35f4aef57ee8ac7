#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace tutti {

// Proof that this process is the only daemon of a home: an flock on run/daemon.lock, which the
// kernel gives back when the process ends however it ends. The file holds the owner's pid.
class HomeLock {
 public:
  // kConflict, naming the pid, when another daemon has it.
  static Result<HomeLock> take(const std::string& home);

 private:
  explicit HomeLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

// Returns when no keeper of the home runs: kConflict, naming its pid, when one has jobs or results
// to keep.
Result<void> await_end_of_keeper(const std::string& home);

}  // namespace tutti
