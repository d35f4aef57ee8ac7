#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/ids.h"

namespace tutti {

// One job that a selector names, with the tasks of it.
struct SelectedJob {
  JobId job;                         // zero: the last job that was submitted
  std::vector<std::int64_t> labels;  // empty: the whole job
  bool of_range = false;             // named by a range alone, such as 5-8, which may have holes
  bool operator==(const SelectedJob&) const = default;
};

// The jobs and tasks that a user means, in the order written, each job once.
struct SelectedJobs {
  bool all = false;  // then `jobs` is empty
  std::vector<SelectedJob> jobs;
  bool operator==(const SelectedJobs&) const = default;
};

// "all", or a list with commas of: "last", "3", "5-8" (jobs), "12.7" or "last.7" (a task by its
// label), "12.1-5" (tasks). At most a million jobs and labels together.
Result<SelectedJobs> parse_selector(std::string_view text);

}  // namespace tutti
