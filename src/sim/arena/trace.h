#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

// One line of an Arena trace. A value.
struct ArenaJob {
  std::string name;
  std::int64_t submit_s = 0;  // on the trace's clock
  std::int64_t iterations = 0;
  std::string model;  // "bert"
  std::string size;   // "1.3B"
  std::int64_t deadline_s = 0;
  std::uint32_t batch = 0;
  std::uint32_t devices = 0;
  std::string type;
};

// Reads the CSV of a trace: job_id, submission_time, num_iteration, model_name (MODEL__SIZE),
// deadline, batch_size, num_gpu and gpu_type, at least one job, in the order of submission. Errors
// say FILE:LINE.
Result<std::vector<ArenaJob>> parse_arena_trace(std::string_view text,
                                                const std::string& file_name);

}  // namespace tutti
