#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sim/declared_length.h"
#include "sim/results.h"
#include "sim/training/trainee.h"

namespace tutti {

// Benchmarks of elastic training jobs: 64 GPUs of one type, or of three.
enum class TrainingBenchmark { kPollux64, kSia64 };

// What policies know of applications when the simulation begins.
enum class Knowledge {
  kCold,  // nothing: the first job of each pays for it
  kWarm,  // how fast they are in every shape
};

// How its jobs behave.
TrainingRules training_rules(TrainingBenchmark benchmark);

struct TrainingOptions {
  std::string data;      // folder with sia/, pollux/ and physics/
  std::string workload;  // a CSV: name, time, application, num_replicas, batch_size
  std::string policy = "tutti";
  Knowledge knowledge = Knowledge::kCold;
  Length length = Length::kDeclared;
  std::uint64_t seed = 1;    // of noisy lengths
  std::uint32_t rounds = 0;  // at most; zero: until all jobs have ended
};

// Simulates the workload round by round. An Error is about the files, or names what is unknown.
Result<RunResult> run_training(TrainingBenchmark benchmark, const TrainingOptions& options);

}  // namespace tutti
