#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "exec/keeper/child.h"
#include "exec/keeper/job_context.h"
#include "exec/keeper/messages.h"

namespace tutti {

// What the names of files with clean-up commands end with; they are where the scripts are.
inline constexpr char kCleanupSuffix[] = ".cleanup";

// How a launch went: a process, or the words for the user and the code a shell would give.
struct Launched {
  pid_t pid = -1;
  int exit_code = 0;
  std::string message;
  int group_error = 0;  // why it could not enter its control group; without, it might start
};

// Turns a start order into a process: finds the program, opens the output files, writes the script.
// Keeps no record of what it started. Keeper thread only; must be made before the keeper raises its
// own limits, because children get the limits of that moment.
class Launcher {
 public:
  // `home` must exist; makes its folders for logs and scripts.
  static Result<Launcher> create(const std::string& home, const std::string& incarnation);

  // `serial` is unique within this keeper and marks all descendants through their environment.
  Launched start(const StartOrder& order, JobContext& context, std::uint64_t serial,
                 std::span<const int> cgroup_fds);
  // Starts the clean-up command of an attempt that ended, in a session of its own and without the
  // mark of its processes. -1: it could not be started.
  pid_t start_cleanup(const StartOrder& order, JobContext& context);
  // The attempt has ended: its files go.
  void clean_up(const StartOrder& order);

  // What a failed attempt wrote last of memory that did not suffice, as memory_ending() says.
  Ending memory_ending(const StartOrder& order, int exit_code) const;

  // Raises the number of descriptors as far as the system lets it, and keeps files of its own from
  // others.
  void change_own_limits();

 private:
  Launcher() = default;
  int open_output(const std::string& path, mode_t mask, std::string& fault) const;
  bool write_script(const StartOrder& order, std::string& fault) const;
  bool write_cleanup(const StartOrder& order, std::string& fault) const;
  std::string script_path(const AttemptId& attempt) const;
  std::string resolve(const std::string& program, const Launch& launch, JobContext& context) const;
  void fill_argv(const StartOrder& order, const std::string& path);
  Launched execute(const StartOrder& order, JobContext& context, ChildPlan& plan);
  Launched explain(const ChildPlan& plan, const ChildFault& fault,
                   const std::string& program) const;

  std::string home_;
  UniqueFd logs_;
  std::string mark_prefix_;  // "TUTTI_KEEPER=<incarnation>."
  std::string mark_;
  std::string script_;
  std::vector<char*> argv_;
  std::vector<char*> shell_argv_;
  rlimit descriptors_{};
  mode_t umask_ = 077;  // of jobs that do not say theirs
  pid_t self_ = 0;
  char* shell_ = nullptr;
};

}  // namespace tutti
