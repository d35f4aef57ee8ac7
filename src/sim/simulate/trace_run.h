#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/node.h"
#include "core/plan/ordering.h"
#include "sim/results.h"
#include "sim/simulate/run_record.h"
#include "sim/workload/workload.h"

namespace tutti {

struct TraceRunOptions {
  std::vector<Node> nodes;
  Ordering ordering = Ordering::kFair;
  // Every job is there so many times; a broken part by chance, which follows from the seed.
  double jobs_scale = 1;
  std::uint64_t seed = 0;
  SpeedTable speeds;  // by which configurations of jobs differ
  Detail detail = Detail::kNone;
  // Told now and then how many jobs have ended, and the time in the simulation in seconds.
  std::function<void(std::uint64_t ended, double now_s)> progress;
};

// What a run came to.
struct TraceOutcome {
  RunResult run;
  Summary summary;
  std::uint64_t refused = 0;    // jobs that no node of the cluster could ever run
  std::string first_refusal;    // why, of the first of them
  std::uint64_t timed_out = 0;  // jobs that their time limit ended
};

// Runs a workload from its first job on, on the daemon's own controller with a virtual clock, until
// all has ended. The same input gives the same result. Jobs that are wider than a node are spread
// over several as gangs.
Result<TraceOutcome> run_trace(Workload& workload, const TraceRunOptions& options);

// A job as it is submitted to these nodes: what fits on none of them by its number of cores or
// devices or its memory becomes a gang of as few equal ranks as do. For run_trace and its tests.
void spread(JobSpec& spec, const std::vector<Node>& nodes);

}  // namespace tutti
