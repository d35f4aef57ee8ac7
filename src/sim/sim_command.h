#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "core/model/ids.h"
#include "core/model/outcome.h"

namespace tutti {

// What a simulated attempt does once it runs.
struct SimRun {
  Duration runs;
  Outcome outcome;
  bool ignores_stop = false;  // needs SIGKILL: ends only after its grace period
};

// The command line of a simulated job, which says what it will do:
//   sim runs=100s exit=1 fails=2 ignores-stop gpu-uses=10G gpu-load=0.3
// `fails` are the attempts that end with `exit` (all, if exit is given without it); `not-started`
// makes them fail to start at all.
struct SimCommand {
  Duration runs = seconds(1);
  int exit_code = 0;
  std::uint32_t fails = 0;
  bool ignores_stop = false;
  bool not_started = false;
  MiB gpu_uses;  // of each device; it runs out of memory when it was granted less
  MilliGpu gpu_load;

  std::vector<std::string> argv() const;
  static Result<SimCommand> parse(const std::vector<std::string>& argv);
  SimRun run_of(AttemptId attempt) const;
};

}  // namespace tutti
