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

// For a database that is new: output of an earlier one's jobs would be overwritten by that of jobs
// with the same numbers, so that its folder gets another name, which is returned; empty: there was
// none.
Result<std::string> set_logs_aside(const std::string& home);

// Creates the home folder and those below it that the daemon needs, private to the user.
Result<void> make_home(const std::string& home);

}  // namespace tutti
