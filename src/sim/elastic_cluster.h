#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.h"
#include "control/controller.h"
#include "control/training_monitor.h"
#include "core/elastic/placement.h"
#include "core/elastic/view.h"
#include "sim/lean_store.h"
#include "sim/results.h"
#include "sim/sim_executor.h"
#include "sim/virtual_clock.h"

namespace tutti {

// The daemon's controller with elastic jobs on simulated nodes, in virtual seconds since the start.
// How far the jobs get is told by whoever owns it, who also describes them to the policy. One
// thread.
class ElasticCluster {
 public:
  struct Options {
    Placing placing = Placing::kCompact;
    double round_s = 60;
  };
  // `policy` and `monitor` outlive it.
  ElasticCluster(const std::vector<Pool>& pools, ElasticPolicy& policy, TrainingMonitor& monitor,
                 const Options& options);

  // Lets time pass. At the end of a round the policy decides.
  void move_to(double now_s);
  // Lets time pass until a job arrives that can use so many nodes. The controller learns of it when
  // time goes on.
  JobId submit(double at_s, std::uint32_t most_nodes);
  // What the job had to do is done, at a moment before the one that is moved to next.
  void finish(JobId job, double at_s) { finished_.emplace_back(job, at_s); }
  // Where the job runs; empty: nowhere.
  Placement placement_of(JobId job) const;
  // The devices that are in use now, and those that are idle beside them.
  void count_use(ClusterSample& sample) const;
  // How long each decision took, by the clock on the wall.
  const std::vector<double>& decision_ms() const { return decision_ms_; }

 private:
  struct Silence : Publisher {
    void published(const Round&) override {}
  };
  static TimePoint at(double seconds);
  void settle();
  void end_attempts(JobId job, TimePoint at);

  std::vector<std::pair<std::uint32_t, std::uint32_t>> places_;  // of nodes: pool, number in it
  std::uint64_t submitted_ = 0;
  std::vector<std::pair<JobId, double>> finished_;  // not told yet
  std::vector<double> decision_ms_;
  VirtualClock clock_;
  LeanStore store_{SpeedTable()};
  SimExecutor executor_;
  Silence publisher_;
  Controller controller_;
};

}  // namespace tutti
