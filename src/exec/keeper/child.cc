#include "exec/keeper/child.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

// Sanitizers keep records per thread, and this code runs in the keeper's memory as somebody else.
#if defined(__clang__)
#define TUTTI_IN_CHILD [[clang::no_sanitize("thread"), clang::no_sanitize("address")]]
#else
#define TUTTI_IN_CHILD [[gnu::no_sanitize("thread"), gnu::no_sanitize("address")]]
#endif

namespace tutti {
namespace {

TUTTI_IN_CHILD [[noreturn]] void give_up(volatile ChildFault& fault, ChildFault::Step step) {
  fault.error = errno;
  fault.step = step;
  _exit(127);
}

TUTTI_IN_CHILD [[noreturn]] void become(const ChildPlan& plan, volatile ChildFault& fault) {
  // The keeper is the only one that can end this process when its time is over, so that it must not
  // outlive the keeper.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(fault, ChildFault::kSetUp);
  if (getppid() != plan.keeper) _exit(127);
  if (setsid() < 0) give_up(fault, ChildFault::kSetUp);
  if (dup2(plan.stdout_fd, 1) < 0 || dup2(plan.stderr_fd, 2) < 0) {
    give_up(fault, ChildFault::kSetUp);
  }
  for (std::size_t i = 0; i < plan.cgroup_count; ++i) {
    if (write(plan.cgroup_fds[i], "0", 1) != 1) give_up(fault, ChildFault::kCgroup);
  }
  if (setrlimit(RLIMIT_NOFILE, &plan.descriptors) != 0) give_up(fault, ChildFault::kSetUp);
  umask(plan.umask);
  if (chdir(plan.workdir) != 0) give_up(fault, ChildFault::kWorkdir);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(plan.path, plan.argv, plan.envp);
  if (errno == ENOEXEC) execve(plan.shell_argv[0], plan.shell_argv, plan.envp);
  give_up(fault, ChildFault::kExec);
}

// What the child is given: it runs on a stack of its own in the keeper's memory, while the keeper
// waits for its execve() or end.
struct Errand {
  const ChildPlan& plan;
  volatile ChildFault& fault;
};

TUTTI_IN_CHILD int run_errand(void* argument) {
  const auto* const errand = static_cast<const Errand*>(argument);
  become(errand->plan, errand->fault);
}

alignas(16) std::array<char, 64 * 1024> child_stack;

}  // namespace

pid_t start_child(const ChildPlan& plan, ChildFault& fault) {
  fault = {};
  Errand errand{plan, fault};
  // As vfork(), without its second return on the same stack.
  const pid_t pid = clone(run_errand, child_stack.data() + child_stack.size(),
                          CLONE_VM | CLONE_VFORK | SIGCHLD, &errand);
  if (pid < 0) {
    fault = {ChildFault::kFork, errno};
    return -1;
  }
  if (fault.step == ChildFault::kNone) return pid;
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return -1;
}

}  // namespace tutti
