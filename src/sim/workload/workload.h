#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "core/model/job_spec.h"
#include "core/spec/node_group.h"

namespace tutti {

// A job of a workload: what its user asks for, when, and what it then does.
struct WorkloadJob {
  Duration submit;             // since the workload's start
  JobSpec spec;                // without a command; `after` names jobs by their `id` here
  std::vector<Duration> runs;  // by task; the last one is that of all further tasks
  Duration deadline;           // after submission; zero: none
  // Of a job with several configurations: the one in which it takes so long.
  std::size_t timed_as = 0;
  bool timed_out = false;  // its time limit is known to have ended it so
  JobId id;                // zero: nobody names it
};

// Work in the order of submission, read as it is needed: a trace of millions of jobs takes no more
// memory than one of ten. Owned by whoever simulates; one thread.
class Workload {
 public:
  virtual ~Workload() = default;

  // The next job; nothing: that was all.
  virtual Result<std::optional<WorkloadJob>> next() = 0;
  // Begins again with the first job.
  virtual Result<void> rewind() = 0;

  std::string name;                   // of its file, for people
  std::uint64_t jobs = 0;             // how many there are
  std::vector<NodeGroup> cluster;     // that it comes with; empty: none
  std::vector<std::string> left_out;  // what of it cannot be simulated; sentences
  // When it starts, by the clock of the trace; none: it was written without one.
  std::optional<Duration> starts_at;

 protected:
  Workload() = default;
  Workload(const Workload&) = default;
  Workload& operator=(const Workload&) = default;
};

// "3 jobs WHICH were left out.", one was.
std::string left_out_note(std::uint64_t jobs, const std::string& which);

// A workload that is in memory as a whole. Sorted by time of submission; of equals as given.
std::unique_ptr<Workload> workload_of(std::vector<WorkloadJob> jobs);

// Opens a file. `format` is "yaml", "philly" or "swf"; empty: by the name's ending and the first
// line. Every error begins with FILE, and with its line where there is one.
Result<std::unique_ptr<Workload>> open_workload(const std::string& path, const std::string& format);

// Several as one: all of their jobs by time. Traces are taken to have one clock; what was written
// without a clock begins with the first of them. One is as it is.
std::unique_ptr<Workload> merge(std::vector<std::unique_ptr<Workload>> parts);

}  // namespace tutti
