// A cluster of A100 nodes with four devices each, and a model that needs 10, 5 or 2.5 s for an
// iteration with 1, 2 or 4 of them (12.8, 25.6 and 51.2 samples/s). All answers are computed by
// hand from the benchmark's rules: rounds of 300 s; a fifth of a trace's iterations; a start costs
// 150 s (10 s) per device, at most 600 s (40 s), and if that is no more than a round it only lowers
// what the round reports.

#include "sim/arena/rounds.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/elastic/policies.h"

namespace tutti {
namespace {

constexpr const char* kTimes = R"({"optimal": {"bert_760M_128": {
  "1_a100_1_n_1_d": 10, "1_a100_1_n_2_d": 5, "1_a100_1_n_4_d": 2.5}}})";

ArenaJob job_at(std::int64_t submit_s, std::uint32_t devices, std::int64_t iterations) {
  ArenaJob job;
  job.name = "job";
  job.submit_s = submit_s;
  job.iterations = 5 * iterations;
  job.model = "bert";
  job.size = "760M";
  job.deadline_s = submit_s + 500;
  job.batch = 128;
  job.devices = devices;
  job.type = "a100";
  return job;
}

RunResult run(std::uint32_t nodes, const std::vector<ArenaJob>& trace, ElasticPolicy& policy,
              ArenaRounds::Options options) {
  auto speeds = ArenaSpeeds::parse(kTimes, "times.json");
  EXPECT_TRUE(speeds);
  ArenaRounds rounds({{"a100", nodes, 4}}, std::move(*speeds), policy, options);
  return rounds.run(trace);
}

RunResult run_fifo(std::uint32_t nodes, const std::vector<ArenaJob>& trace,
                   ArenaRounds::Options options) {
  const auto policy = make_fifo_policy();
  return run(nodes, trace, *policy, options);
}

// Does what a test says, by round.
class Scripted : public ElasticPolicy {
 public:
  explicit Scripted(std::function<Choices(int)> script) : script_(std::move(script)) {}
  Choices decide(const ElasticSnapshot& snapshot) override {
    seen.push_back(snapshot);
    return script_(round_++);
  }
  std::vector<ElasticSnapshot> seen;

 private:
  std::function<Choices(int)> script_;
  int round_ = 0;
};

TEST(ArenaRounds, a_start_of_a_round_or_less_delays_nothing_and_a_longer_one_costs_a_round) {
  // A: 60 iterations of 5 s are one round. B waits for it, and its start of 600 s takes round 1 and
  // 2 of reports and one round of progress: 120 iterations of 2.5 s are done in round 3.
  const auto result = run_fifo(1, {job_at(1000, 2, 60), job_at(1000, 4, 120)},
                               {6, ArenaRestartCost::kOthers, Placing::kFirstCome});
  EXPECT_EQ(result.jobs[0].finish_s, 300);
  EXPECT_EQ(result.jobs[1].first_start_s, 300);
  EXPECT_EQ(result.jobs[1].finish_s, 900);
  EXPECT_EQ(result.jobs[1].queue_s, 300);
  EXPECT_EQ(result.jobs[1].device_s, 2400);
  for (const ClusterSample& sample : result.samples) EXPECT_EQ(sample.throughput, 0);
}

TEST(ArenaRounds, the_cost_that_crius_charges_is_a_small_part_of_a_round) {
  const auto result = run_fifo(1, {job_at(1000, 2, 60), job_at(1000, 4, 120)},
                               {4, ArenaRestartCost::kCrius, Placing::kFirstCome});
  EXPECT_EQ(result.jobs[1].finish_s, 600);
  EXPECT_DOUBLE_EQ(result.samples[0].throughput, 23.893);  // 25.6 × 280 / 300
  EXPECT_DOUBLE_EQ(result.samples[1].throughput, 44.373);  // 51.2 × 260 / 300
  EXPECT_EQ(result.samples[2].throughput, 0);
}

TEST(ArenaRounds, jobs_join_the_round_before_the_one_they_fall_into) {
  const auto result = run_fifo(1, {job_at(1000, 1, 1), job_at(1300, 1, 1), job_at(1301, 1, 1)},
                               {3, ArenaRestartCost::kCrius, Placing::kFirstCome});
  EXPECT_EQ(result.jobs[1].submit_s, 0);
  EXPECT_EQ(result.jobs[2].submit_s, 300);
  EXPECT_EQ(result.jobs[2].deadline_s, 801);
}

TEST(ArenaRounds, jobs_that_arrive_after_the_last_round_are_not_in_the_result) {
  const auto result = run_fifo(1, {job_at(1000, 1, 1000), job_at(9000, 1, 1)},
                               {3, ArenaRestartCost::kCrius, Placing::kFirstCome});
  ASSERT_EQ(result.jobs.size(), 1u);
  EXPECT_FALSE(result.jobs[0].finish_s);
  EXPECT_EQ(result.horizon_s, 900);
  ASSERT_EQ(result.jobs[0].spans.size(), 1u);
  EXPECT_EQ(result.jobs[0].spans[0].to_s, 900);
  EXPECT_EQ(result.jobs[0].spans[0].nodes, (std::vector<std::string>{"a100-0"}));
}

TEST(ArenaRounds, progress_survives_a_change_of_shape_which_is_paid_for) {
  // 30 of 60 iterations with one device by round 1; then four devices: their start costs a round,
  // and round 3 finds the other 30 done.
  Scripted policy([](int round) { return Choices{round == 0 ? 0u : 2u}; });
  const auto result =
      run(1, {job_at(1000, 1, 60)}, policy, {5, ArenaRestartCost::kOthers, Placing::kPacked});
  EXPECT_EQ(result.jobs[0].finish_s, 900);
  EXPECT_EQ(result.jobs[0].restarts, 1u);
  ASSERT_EQ(result.jobs[0].spans.size(), 2u);
  EXPECT_EQ(policy.seen[1].jobs[0].remaining, 30);
  EXPECT_FALSE(policy.seen[1].jobs[0].starting);
  EXPECT_TRUE(policy.seen[2].jobs[0].starting);
  EXPECT_EQ(policy.seen[2].jobs[0].attained_s, 1500);
}

TEST(ArenaRounds, one_that_is_taken_off_waits_and_keeps_its_progress) {
  Scripted policy(
      [](int round) { return round == 1 ? Choices{std::nullopt} : Choices{std::size_t{0}}; });
  const auto result =
      run(1, {job_at(1000, 1, 60)}, policy, {5, ArenaRestartCost::kCrius, Placing::kPacked});
  EXPECT_EQ(result.jobs[0].finish_s, 900);
  EXPECT_EQ(result.jobs[0].queue_s, 300);
  EXPECT_EQ(result.jobs[0].restarts, 1u);
}

TEST(ArenaRounds, a_smaller_job_moves_so_that_a_larger_one_fits_and_pays_for_it) {
  // Two nodes with a short and a long job of two devices each. When the short ones have ended, a
  // job of four needs one of the nodes: the long job of the first moves to the second.
  const std::vector<ArenaJob> trace{job_at(1000, 2, 60), job_at(1000, 2, 600), job_at(1000, 2, 60),
                                    job_at(1000, 2, 600), job_at(1400, 4, 120)};
  const auto result = run_fifo(2, trace, {3, ArenaRestartCost::kCrius, Placing::kPacked});
  EXPECT_EQ(result.jobs[4].first_start_s, 300);
  EXPECT_EQ(result.jobs[1].restarts + result.jobs[3].restarts, 1u);
  EXPECT_EQ(result.jobs[1].queue_s + result.jobs[3].queue_s, 0);
  EXPECT_EQ(result.samples[1].devices_used, 8u);
}

TEST(ArenaRounds, first_come_leaves_a_gap_rather_than_move_anybody) {
  // One device each on the emptiest node: four nodes with a device in use, none for a job of four,
  // which holds back the one behind it.
  const std::vector<ArenaJob> trace{job_at(1000, 1, 600), job_at(1000, 1, 600),
                                    job_at(1000, 4, 120), job_at(1000, 1, 60)};
  const auto result = run_fifo(2, trace, {2, ArenaRestartCost::kCrius, Placing::kFirstCome});
  EXPECT_FALSE(result.jobs[2].first_start_s);
  EXPECT_FALSE(result.jobs[3].first_start_s);
  EXPECT_EQ(result.samples[0].devices_stranded, 6u);
  EXPECT_EQ(result.samples[0].waiting, 2u);
}

TEST(ArenaRounds, one_that_runs_nowhere_is_dropped_and_told) {
  auto lost = job_at(1000, 1, 60);
  lost.model = "other";
  const auto result = run_fifo(1, {lost}, {2, ArenaRestartCost::kCrius, Placing::kFirstCome});
  ASSERT_EQ(result.jobs.size(), 1u);
  EXPECT_FALSE(result.jobs[0].first_start_s);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_EQ(result.notes[0],
            "Jobs without any measured speed on this cluster, which never run: 1; the first: "
            "'job'.");
}

}  // namespace
}  // namespace tutti
