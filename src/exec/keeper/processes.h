#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace tutti {

// What /proc says of processes. All answers are about a moment that is over when they arrive: a
// process that is gone has no environment, session 0 and no memory.

void for_each_process(const std::function<void(pid_t)>& visit);

// The value after `prefix` in the variable of the process's first environment that starts with it;
// empty when there is none or it cannot be read.
std::string environment_value(pid_t pid, std::string_view prefix);

std::int64_t resident_kib(pid_t pid);
pid_t parent_of(pid_t pid);
// When it started, in clock ticks since boot; 0 if it is gone.
std::uint64_t start_ticks(pid_t pid);
// A zombie, or gone altogether.
bool is_dead(pid_t pid);
// Whether it has the reading end of a pipe open.
bool reads_pipe(pid_t pid);
// The present moment on the scale of start_ticks().
std::uint64_t ticks_now();

// The calling thread's children, read in a few microseconds where the kernel offers the list.
class ChildList {
 public:
  ChildList();
  // Whether read() is cheap.
  bool cheap() const { return static_cast<bool>(file_); }
  // Valid until the next call. Without the kernel's list all processes are looked at.
  const std::vector<pid_t>& read();

 private:
  UniqueFd file_;
  std::string text_;
  std::vector<pid_t> pids_;
};

}  // namespace tutti
