#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>

namespace tutti {

// Everything that the child of one launch needs, made ready beforehand: until execve() it shares
// the keeper's memory and may only make system calls.
struct ChildPlan {
  const char* path = nullptr;
  char* const* argv = nullptr;
  char* const* shell_argv = nullptr;  // for a script without "#!": /bin/sh, path, arguments
  char* const* envp = nullptr;
  const char* workdir = nullptr;
  int stdout_fd = -1;
  int stderr_fd = -1;
  const int* cgroup_fds = nullptr;
  std::size_t cgroup_count = 0;
  rlimit descriptors{};
  mode_t umask = 077;
  pid_t keeper = 0;
};

// Where a launch failed and why.
struct ChildFault {
  enum Step : int { kNone = 0, kFork, kSetUp, kCgroup, kWorkdir, kExec };
  int step = kNone;
  int error = 0;
};

// Starts the child as leader of a session of its own. Returns its process id, or -1 with `fault`
// telling why; then no process is left.
pid_t start_child(const ChildPlan& plan, ChildFault& fault);

}  // namespace tutti
