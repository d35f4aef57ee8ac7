#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/elastic/view.h"

namespace tutti {

// A stretch of time in which a job had the same devices.
struct JobSpan {
  double from_s = 0;
  double to_s = 0;
  std::string type;                // of the devices; empty: none, CPUs only
  std::vector<std::string> nodes;  // one entry for each device, or for each node without devices
  // Which of its node's devices each entry is; empty: nobody says.
  std::vector<std::uint32_t> devices;
};

// What became of one job. All times are seconds since the simulation's start.
struct JobResult {
  std::string name;
  std::string kind;  // application, model or name of the work; for grouping
  double submit_s = 0;
  std::optional<double> first_start_s;
  std::optional<double> finish_s;  // none: it had not ended at the horizon
  bool timed_out = false;          // its time limit ended it, or a task of it
  double queue_s = 0;              // time without devices, from submission to end or horizon
  std::uint32_t restarts = 0;      // starts after the first one
  double device_s = 0;  // devices × seconds; of a shared one the part that it was granted
  double unused_s = 0;  // what of that was after its end, where whole rounds are counted
  double devices = 0;   // that its user asked for; of several configurations what it got first
  std::optional<double> alone_s;  // how long it would take with its 1/N share of the devices
  std::optional<double> deadline_s;
  std::vector<JobSpan> spans;
};

// The cluster at one moment.
struct ClusterSample {
  double at_s = 0;
  std::uint32_t waiting = 0;
  std::uint32_t running = 0;
  double devices_used = 0;  // that somebody has
  // Devices that are idle on nodes that are partly used.
  double devices_stranded = 0;
  double throughput = 0;  // benchmarks that define one; else zero
};

// A node of the cluster that was simulated, for pictures of it.
struct ClusterNode {
  std::string name;
  std::vector<std::string> types;  // of its devices, one after the other
  double devices = 0;              // how many; or cores, if the cluster has no devices at all
};

// One simulation from beginning to end. A value.
struct RunResult {
  std::string policy;
  std::string workload;
  double horizon_s = 0;  // when the simulation ended
  double devices = 0;
  bool cores = false;  // the cluster has no devices: `devices` counts cores
  std::vector<ClusterNode> nodes;
  std::vector<JobResult> jobs;  // all that were submitted, in the order of submission
  std::vector<ClusterSample> samples;
  std::vector<double> decision_ms;  // how long each decision took
  std::vector<std::string> notes;   // what should be known of the result; sentences
};

// What the nodes of a pool are called: a100-0, a100-1, …
std::string pool_node_name(const Pool& pool, std::uint32_t number);
// The run is one on these pools.
void set_cluster(const std::vector<Pool>& pools, RunResult& run);
// Notes that so many jobs would have come after the last round.
void note_late(std::size_t jobs, RunResult& run);

// The figures of a run, over all submitted jobs: one that has not ended counts as ended at the
// horizon. Times in seconds.
struct Summary {
  std::uint64_t jobs = 0;
  std::uint64_t finished = 0;
  double mean_jct_s = 0;
  double median_jct_s = 0;
  double p90_jct_s = 0;
  double p99_jct_s = 0;  // the element floor(0.99 n) of the sorted times
  double mean_queue_s = 0;
  double makespan_s = 0;  // last end (or the horizon) − first submission
  double restarts_per_job = 0;
  double device_hours_per_job = 0;
  double device_use = 0;     // part of devices × time in use between first submission and last end
  double fragmentation = 0;  // mean part of all devices that is stranded while somebody waits
  // Part of the jobs that were worse off than with a 1/N share, and the largest completion time /
  // time with a 1/N share; none: nobody knows what such a share would have been.
  std::optional<double> unfair;
  std::optional<double> worst_fairness;
  std::optional<double> deadlines_met;  // part of the jobs with a deadline
  double decision_ms_median = 0;
  double decision_ms_p95 = 0;
  double throughput_mean = 0;
};

Summary summarise(const RunResult& run);

// The same, fed with one thing after the other: of a job it keeps one number.
class SummaryBuilder {
 public:
  explicit SummaryBuilder(double devices) : devices_(devices) {}

  // A job that has ended, or at the end one that has not. `horizon_s` counts for the latter.
  void add(const JobResult& job, double horizon_s);
  // In the order of time; each holds until the next.
  void add(const ClusterSample& sample);
  Summary summary(double horizon_s) const;

 private:
  double devices_;
  std::vector<double> times_;  // from submission to end
  Summary sums_;               // what is a mean in the end is a sum here
  double first_submit_s_ = 0;
  double last_end_s_ = 0;
  double device_s_ = 0;
  double used_s_ = 0;  // of that
  std::uint64_t with_share_ = 0;
  std::uint64_t unfair_ = 0;
  std::uint64_t deadlines_ = 0;
  std::uint64_t met_ = 0;
  std::optional<ClusterSample> last_;
  double waiting_s_ = 0;   // time in which somebody waited
  double stranded_s_ = 0;  // devices × such time
  std::uint64_t samples_ = 0;
};

}  // namespace tutti
