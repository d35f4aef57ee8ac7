#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/training_monitor.h"
#include "core/elastic/placement.h"
#include "core/elastic/view.h"
#include "sim/arena/arena_speeds.h"
#include "sim/arena/trace.h"
#include "sim/declared_length.h"
#include "sim/elastic_cluster.h"
#include "sim/results.h"

namespace tutti {

// What a start or a change of shape costs, by number of devices.
enum class ArenaRestartCost : std::uint8_t {
  kCrius,   // 10 s for each, at most 40 s
  kOthers,  // 150 s for each, at most 600 s
};

// One Arena simulation: rounds of 300 s in which jobs advance, end, arrive, are decided on, and are
// counted, in this order. Progress is whole iterations of what ran without a change. One thread.
class ArenaRounds : public TrainingMonitor {
 public:
  struct Options {
    std::uint32_t rounds = 2000;
    ArenaRestartCost cost = ArenaRestartCost::kCrius;
    Placing placing = Placing::kPacked;
    Length length = Length::kDeclared;
    std::uint64_t seed = 1;  // of noisy lengths
  };
  // `policy` outlives it.
  ArenaRounds(std::vector<Pool> pools, ArenaSpeeds speeds, ElasticPolicy& policy, Options options);

  // Runs the trace to the last round, once. Jobs that arrive later are not in the result.
  RunResult run(const std::vector<ArenaJob>& trace);

  ElasticJob describe(JobId job, std::span<const Pool> pools) override;

 private:
  // A job that has arrived and not ended.
  struct Live {
    std::size_t result = 0;  // its position in RunResult::jobs
    std::vector<ArenaSpeed> speeds;
    std::uint32_t wanted = 1;
    std::optional<std::uint32_t> wanted_pool;
    std::int64_t total = 0;        // iterations
    std::int64_t left = 0;         // of them
    std::int64_t left_before = 0;  // when its present run began
    DeclaredLength length;
    double executed_s = 0;  // in its present run, without what the start cost
    double debt_s = 0;      // what the start still costs
    bool started = false;   // in this round
    double run_from_s = 0;
    Placement placement;
    const ArenaSpeed* speed = nullptr;  // as which it runs; null: it does not
  };

  void advance();
  bool has_advanced_to_end(Live& live);
  void arrive(const ArenaJob& job);
  void apply();
  void start(Live& live, const Placement& placement);
  void stop(Live& live);
  void count_round();
  void stop_all();
  double reported(Live& live);
  double cost(std::uint32_t devices) const;
  JobResult& result_of(const Live& live) { return run_.jobs[live.result]; }

  std::vector<Pool> pools_;
  ArenaSpeeds speeds_;
  Options options_;
  LengthTeller lengths_;
  ElasticCluster cluster_;
  double now_s_ = 0;
  std::map<JobId, Live> live_;
  std::vector<std::size_t> dropped_;  // jobs that run nowhere, by their position in the result
  RunResult run_;
};

}  // namespace tutti
