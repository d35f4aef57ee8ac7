#include "sim/simulate/benchmark.h"

#include <filesystem>

#include "core/spec/text.h"
#include "sim/arena/arena.h"
#include "sim/training/training.h"

namespace tutti {
namespace {

// Where a benchmark has its workloads.
std::string own_folder(const SimulationRequest& request) {
  return request.data + (request.benchmark == "pollux-64"    ? "/pollux/workloads/"
                         : request.benchmark == "arena-1280" ? "/arena/"
                                                             : "/sia/workloads/philly/");
}

// A path, or a file in the folder of the data or in that of the benchmark's workloads.
std::string workload_path(const SimulationRequest& request) {
  std::error_code ignored;
  for (const std::string& folder : {std::string(), request.data + "/", own_folder(request)}) {
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
  ArenaOptions options{.data = request.data, .workload = workload_path(request), .policy = policy};
  if (request.rounds > 0) options.rounds = request.rounds;
  if (request.restart_cost == "others") options.restart_cost = ArenaRestartCost::kOthers;
  options.length = length_of(request);
  options.seed = request.seed;
  return run_arena(options);
}

// What was said and changes nothing in this benchmark.
void note_without_effect(const SimulationRequest& request, RunResult& run) {
  const bool arena = request.benchmark == "arena-1280";
  if (arena && !request.knowledge.empty())
    run.notes.push_back("--knowledge changes nothing: all speeds of arena-1280 are measured.");
  if (!arena && !request.restart_cost.empty())
    run.notes.push_back("--restart-cost changes nothing: " + request.benchmark +
                        " has restart costs of its own.");
}

// What is missing, if something is: a name alone does not say where it was looked for.
Error with_place(const SimulationRequest& request, const Error& error) {
  std::error_code ignored;
  if (error.code != ErrorCode::kNotFound) return error;
  if (!std::filesystem::is_directory(request.data, ignored))
    return not_found("data: there is no folder " + shown(request.data));
  if (std::filesystem::exists(workload_path(request), ignored)) return error;
  return not_found("workload: there is no file " + shown(request.workload) +
                   ", neither here nor in " + shown(request.data) + " or " +
                   shown(own_folder(request)));
}

}  // namespace

Result<RunResult> run_benchmark(const SimulationRequest& request, const std::string& policy) {
  Result<RunResult> run = request.benchmark == "arena-1280" ? run_arena_of(request, policy)
                                                            : run_training_of(request, policy);
  if (!run) return with_place(request, run.error());
  note_without_effect(request, *run);
  run->policy = policy;
  run->workload = request.workload.substr(request.workload.rfind('/') + 1);
  return run;
}

}  // namespace tutti
