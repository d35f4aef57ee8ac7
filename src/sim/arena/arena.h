#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sim/arena/rounds.h"
#include "sim/results.h"

namespace tutti {

// One run of the benchmark Arena-1280.
struct ArenaOptions {
  // The folder with prof_database.json and sim_cluster_spec.json, or the one that has it as arena/.
  std::string data;
  std::string workload;  // a trace
  std::string policy = "tutti";
  std::uint32_t rounds = 2000;
  ArenaRestartCost restart_cost = ArenaRestartCost::kCrius;
  Length length = Length::kDeclared;
  std::uint64_t seed = 1;  // of noisy lengths
};

// Reads the files and runs the trace. The result has the jobs that arrive within the rounds.
Result<RunResult> run_arena(const ArenaOptions& options);

}  // namespace tutti
