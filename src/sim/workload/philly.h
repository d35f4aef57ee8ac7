#pragma once

#include <map>

#include "sim/workload/line_workload.h"

namespace tutti {

// A trace of GPU jobs as CSV, such as the ones of Philly. The first line names the columns, in any
// order: job_id, submit (seconds, or a date and time), duration (seconds) and num_gpu; if they are
// there also gpu_type, deadline (as submit), user and vc. Common other names are known; columns
// that are not are skipped. A job gets GPUs to itself. Traces of iterations instead of durations
// are for --benchmark, which the error says.
class PhillyReader final : public TraceLineReader {
 public:
  explicit PhillyReader(std::string file) : file_(std::move(file)) {}

  Result<std::optional<WorkloadJob>> read(std::string_view line, std::uint64_t number) override;
  std::vector<std::string> left_out() const override;

 private:
  Result<void> read_heading(std::string_view line, std::uint64_t number);
  Result<void> read_times(const std::vector<std::string_view>& cells, std::uint64_t number,
                          WorkloadJob& job) const;
  // The cell of a column; nothing if the trace does not have it or leaves it empty.
  std::optional<std::string_view> cell(const std::vector<std::string_view>& cells,
                                       const char* column) const;
  Result<Duration> time(const std::vector<std::string_view>& cells, const char* column,
                        std::uint64_t number) const;

  std::string file_;
  std::map<std::string, std::size_t> columns_;  // by our name
  std::size_t width_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace tutti
