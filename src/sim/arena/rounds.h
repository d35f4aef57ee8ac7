#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/elastic/view.h"
#include "sim/arena/arena_speeds.h"
#include "sim/arena/seats.h"
#include "sim/arena/trace.h"
#include "sim/declared_length.h"
#include "sim/results.h"

namespace tutti {

// What a start or a change of shape costs, by number of devices.
enum class ArenaRestartCost : std::uint8_t {
  kCrius,   // 10 s for each, at most 40 s
  kOthers,  // 150 s for each, at most 600 s
};

// Where jobs are put.
enum class ArenaPlacing : std::uint8_t {
  kFirstCome,  // emptiest nodes first; what does not fit blocks its pool for those behind it
  kPacked,     // fullest nodes first; smaller jobs move if that makes room, and pay for it
};

// One Arena simulation: rounds of 300 s in which jobs advance, end, arrive, are decided on, and are
// counted, in this order. Progress is whole iterations of what ran without a change. One thread.
class ArenaRounds {
 public:
  struct Options {
    std::uint32_t rounds = 2000;
    ArenaRestartCost cost = ArenaRestartCost::kCrius;
    ArenaPlacing placing = ArenaPlacing::kPacked;
    Length length = Length::kDeclared;
    std::uint64_t seed = 1;  // of noisy lengths
  };
  ArenaRounds(std::vector<Pool> pools, ArenaSpeeds speeds, Options options);

  // Runs the trace to the last round. Jobs that arrive later are not in the result.
  RunResult run(const std::vector<ArenaJob>& trace, ElasticPolicy& policy);

 private:
  // A job that has arrived and not ended. `snapshot_.jobs` has the policy's side of it, at the same
  // position.
  struct Live {
    std::size_t result = 0;  // its position in RunResult::jobs
    std::vector<ArenaSpeed> speeds;
    std::int64_t total = 0;        // iterations
    std::int64_t left = 0;         // of them
    std::int64_t left_before = 0;  // when its present run began
    DeclaredLength length;
    double executed_s = 0;  // in its present run, without what the start cost
    double debt_s = 0;      // what the start still costs
    bool started = false;   // in this round
    double run_from_s = 0;
    Seat seat;
  };

  void advance();
  void end_job(std::size_t at);
  void arrive(const ArenaJob& job, double submit_s);
  void tell_length(std::size_t at);
  void decide(ElasticPolicy& policy);
  void apply(const Choices& choices);
  void seat_first_come(const std::vector<std::size_t>& starts, const Choices& choices);
  void seat_packed(std::vector<std::size_t> starts, const Choices& choices);
  bool make_room(const Shape& shape, const Choices& choices, std::vector<std::size_t>& moved);
  std::vector<std::size_t> smaller_on(std::uint32_t pool, std::uint32_t node,
                                      std::uint32_t need) const;
  void start(std::size_t at, std::size_t option, Seat seat);
  void stop(std::size_t at);
  void count_round();
  double reported(Live& live, const ElasticJob& job);
  double cost(std::uint32_t devices) const;
  const Shape& shape_of(std::size_t at) const;
  JobResult& result_of(std::size_t at) { return run_.jobs[live_[at].result]; }

  ArenaSpeeds speeds_;
  Options options_;
  LengthTeller lengths_;
  Seats seats_;
  ElasticSnapshot snapshot_;
  std::vector<Live> live_;
  std::vector<std::size_t> dropped_;  // jobs that run nowhere, by their position in the result
  std::deque<double> events_;         // arrivals and ends within the last hour
  RunResult run_;
};

}  // namespace tutti
