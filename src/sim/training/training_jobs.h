#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tutti {

// A job of a workload of the training benchmarks.
struct TrainingJob {
  std::string name;
  std::string application;
  double submit_s = 0;
  std::uint32_t devices = 1;
  double batch = 0;
};

// Reads a CSV with the columns name, time, application, num_replicas and batch_size, in any order
// of time. The jobs are in the order of submission; an error names file and line.
Result<std::vector<TrainingJob>> read_training_jobs(const std::string& path);

}  // namespace tutti
