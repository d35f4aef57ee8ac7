#include "sim/simulate/benchmark.h"

#include <filesystem>

#include "sim/arena/arena.h"
#include "sim/training/training.h"

namespace tutti {
namespace {

// A path, or a file in the folder of the data or in that of the benchmark's workloads.
std::string workload_path(const SimulationRequest& request) {
  const char* own =
      request.benchmark == "pollux-64" ? "/pollux/workloads/" : "/sia/workloads/philly/";
  std::error_code ignored;
  for (const std::string& folder : {std::string(), request.data + "/", request.data + own}) {
    if (std::filesystem::exists(folder + request.workload, ignored))
      return folder + request.workload;
  }
  return request.workload;
}

Length length_of(const SimulationRequest& request) {
  if (request.length == "oblivious") return Length::kOblivious;
  return request.length == "noisy" ? Length::kNoisy : Length::kDeclared;
}

Result<RunResult> run_training_of(const SimulationRequest& request, const std::string& policy) {
  TrainingOptions options{
      .data = request.data, .workload = workload_path(request), .policy = policy};
  options.knowledge = request.knowledge == "warm" ? Knowledge::kWarm : Knowledge::kCold;
  options.length = length_of(request);
  options.seed = request.seed;
  options.rounds = request.rounds;
  return run_training(
      request.benchmark == "pollux-64" ? TrainingBenchmark::kPollux64 : TrainingBenchmark::kSia64,
      options);
}

Result<RunResult> run_arena_of(const SimulationRequest& request, const std::string& policy) {
  ArenaOptions options{.data = request.data, .workload = request.workload, .policy = policy};
  if (request.rounds > 0) options.rounds = request.rounds;
  if (request.restart_cost == "others") options.restart_cost = ArenaRestartCost::kOthers;
  options.length = length_of(request);
  options.seed = request.seed;
  return run_arena(options);
}

}  // namespace

Result<RunResult> run_benchmark(const SimulationRequest& request, const std::string& policy) {
  Result<RunResult> run = request.benchmark == "arena-1280" ? run_arena_of(request, policy)
                                                            : run_training_of(request, policy);
  if (!run) return run.error();
  run->policy = policy;
  run->workload = request.workload.substr(request.workload.rfind('/') + 1);
  return run;
}

}  // namespace tutti
