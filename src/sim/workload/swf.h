#pragma once

#include <array>

#include "sim/workload/line_workload.h"

namespace tutti {

// The Standard Workload Format: 18 numbers on a line, ';' begins a comment, -1 is unknown. Taken of
// a job are its submission, run time, processors (requested, else allocated), requested time as its
// limit, requested memory, user, group and executable. Processors are cores; a comment such as
// "; MaxProcs: 1024" says how many the cluster has. Jobs without a run time or processors are left
// out, and so are lines of partial executions (status 2, 3, 4), which stand beside that of the job.
class SwfReader final : public TraceLineReader {
 public:
  explicit SwfReader(std::string file) : file_(std::move(file)) {}

  Result<std::optional<WorkloadJob>> read(std::string_view line, std::uint64_t number) override;
  std::vector<NodeGroup> cluster() const override;
  std::vector<std::string> left_out() const override;

 private:
  // Each number that is used as if it were seconds; what the others are does not matter.
  using Fields = std::array<Duration, 18>;
  Result<Fields> split(std::string_view line, std::uint64_t number);
  void read_comment(std::string_view line);

  std::string file_;
  std::uint64_t processors_ = 0;  // as the heading says
  std::uint64_t widest_ = 0;      // of any job
  std::uint64_t skipped_ = 0;
  std::uint64_t parts_ = 0;  // lines of partial executions
  bool part_ = false;        // the line that was split last is one
};

}  // namespace tutti
