#pragma once

#include "base/unique_fd.h"

namespace tutti {

// Turns Ctrl-C (SIGINT) and SIGTERM into a readable descriptor for as long as it lives. One at a
// time in a process; used by the thread that made it.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  int fd() const { return read_.get(); }
  // The last signal that came since the last call; 0: none did.
  int take();

 private:
  UniqueFd read_;
  UniqueFd write_;
};

}  // namespace tutti
