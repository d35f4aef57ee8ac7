#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload/workload.h"

namespace tutti {

// Reads a trace that has one job on a line. It is fed every line in order, from the first on each
// time; times are those of the trace.
class TraceLineReader {
 public:
  virtual ~TraceLineReader() = default;

  // The job of a line; nothing: a comment, a heading, or a job that cannot be simulated, which it
  // counts. Errors begin with FILE:LINE.
  virtual Result<std::optional<WorkloadJob>> read(std::string_view line, std::uint64_t number) = 0;
  // What it learnt of the cluster, and what it left out; after the last line.
  virtual std::vector<NodeGroup> cluster() const { return {}; }
  virtual std::vector<std::string> left_out() const { return {}; }

 protected:
  TraceLineReader() = default;
  TraceLineReader(const TraceLineReader&) = default;
  TraceLineReader& operator=(const TraceLineReader&) = default;
};

// Reads the file once to check all of it, and again when its jobs are asked for. One that is not in
// the order of submission is sorted in memory. Time begins with its first submission.
Result<std::unique_ptr<Workload>> open_lines(const std::string& path,
                                             std::unique_ptr<TraceLineReader> reader);

// "FILE:LINE: why".
Error line_error(const std::string& file, std::uint64_t line, const std::string& why);

// A number of seconds as traces write it, such as "12" or "1.5", to the microsecond. An error shows
// what is no number, is below -1, or is more than a hundred years.
Result<Duration> trace_seconds(std::string_view text);

}  // namespace tutti
