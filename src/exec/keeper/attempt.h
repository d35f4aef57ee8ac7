#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "exec/keeper/cgroups.h"
#include "exec/keeper/job_context.h"
#include "exec/keeper/messages.h"

namespace tutti {

// One attempt in the keeper, from its order until its result is reported. Owned by the Supervisor.
struct Attempt {
  enum class Phase {
    kWaiting,   // in its lane's backlog
    kRunning,   //
    kStopping,  // was sent SIGTERM; its grace period runs
    kKilling,   // was sent SIGKILL
    kDraining,  // its main process has ended; what else it started is being ended
    kCleaning,  // all its processes are gone; its clean-up command runs
  };
  StartOrder order;
  std::shared_ptr<JobContext> context;
  Phase phase = Phase::kWaiting;
  std::uint64_t serial = 0;  // within this keeper; in its processes' environment
  pid_t pid = -1;            // main process, leader of its session and group
  pid_t cleaner = -1;        // process of its clean-up command, while that runs
  TimePoint started_at;
  std::int64_t started_us = 0;      // monotonic
  std::uint64_t started_ticks = 0;  // since boot, as /proc counts
  std::int64_t due_us = 0;          // monotonic; when the phase's time is over; zero: never
  Ending cause = Ending::kExited;   // kExited: nobody stopped it
  std::string message;
  std::unique_ptr<Cgroup> cgroup;
  bool watched = false;  // its memory is checked by the keeper
  int status = 0;
  rusage usage{};
  bool group_gone = false;  // no process is left in the main process's group
  bool left_over = false;   // some other process of it was seen in the last look
  // Monotonic; until then its processes that read from a pipe may read the rest. Zero: not at all.
  std::int64_t respite_until_us = 0;
  bool respited = false;  // such a process was seen in the last look
};

}  // namespace tutti
