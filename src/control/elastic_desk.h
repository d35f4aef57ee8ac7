#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/units.h"
#include "control/training_monitor.h"
#include "core/elastic/node_pools.h"
#include "core/elastic/placement.h"
#include "core/elastic/view.h"
#include "core/lifecycle/ledger.h"
#include "core/plan/plan.h"

namespace tutti {

// By which policy elastic jobs are scheduled, and how often.
struct ElasticRules {
  std::unique_ptr<ElasticPolicy> policy;
  TrainingMonitor* monitor = nullptr;  // outlives the controller
  Placing placing = Placing::kCompact;
  Duration round = seconds(60);
};

// The controller's dealings with elastic jobs: at the end of each round it has the policy choose
// shapes, says who has to stop for that, and starts those whose devices have become free. What it
// remembers is what policies see beyond the ledger, and can be lost. Owned by the controller.
class ElasticDesk {
 public:
  // From `start` on rounds are counted.
  void open(ElasticRules rules, TimePoint start);
  bool is_open() const { return rules_.policy != nullptr; }

  // When the next round ends; zero: there is no elastic job.
  TimePoint next_round(const Ledger& ledger, TimePoint now);
  void note_end(const Job& job);
  // Decides anew. Returns who runs and has to stop.
  std::vector<JobId> decide(const Ledger& ledger, TimePoint now);
  // Those that wait for a shape which is free now.
  std::vector<GangStart> starts(const Ledger& ledger) const;

 private:
  // What rounds have shown of a job.
  struct Tally {
    double executed_s = 0;
    double attained_s = 0;
  };
  // What a round is decided on, and what each job has of the pools or is to have.
  struct View {
    NodePools pools;
    ElasticSnapshot snapshot;
    std::vector<Placement> has;
  };
  double since_start(TimePoint time) const;
  void count_round(const Ledger& ledger, TimePoint now);
  void count_events(const Ledger& ledger, double now_s);
  View look(const Ledger& ledger, TimePoint now);
  NodePools pools_of(const Ledger& ledger, std::set<JobId>& apart);
  ElasticJob view_of(const Ledger& ledger, const Job& job, const NodePools& pools);

  ElasticRules rules_;
  TimePoint start_;
  TimePoint last_;                                   // the round that was decided last
  TimePoint next_;                                   // zero: nobody waits for it
  std::map<JobId, Tally> tallies_;                   // of those that the last round has seen
  std::vector<std::pair<JobId, TimePoint>> ended_;   // since then
  std::deque<double> events_;                        // arrivals and ends within the last hour
  std::map<JobId, std::vector<NodeShare>> targets_;  // what each job has or is to have
};

}  // namespace tutti
