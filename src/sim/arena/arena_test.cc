#include "sim/arena/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "core/spec/yaml_tree.h"
#include "sim/csv_table.h"
#include "tests/support/benchmark_data.h"

namespace tutti {
namespace {

TEST(RunArena, says_what_it_cannot_read) {
  const auto run = run_arena({.data = "/nowhere", .policy = "fifo"});
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find("/nowhere/sim_cluster_spec.json"), std::string::npos);
}

TEST(RunArena, names_the_policies_that_there_are) {
  const auto run = run_arena({.data = "/nowhere", .policy = "best"});
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find("'best'"), std::string::npos);
  EXPECT_NE(run.error().message.find("cells"), std::string::npos);
}

// The published results of the benchmark's FCFS.
class RunArenaOnPhilly : public BenchmarkTest {
 protected:
  RunArenaOnPhilly() : BenchmarkTest(TUTTI_BENCHMARK_FOLDER) {}

  void SetUp() override {
    BenchmarkTest::SetUp();
    options_.data = data_;
    options_.workload = data_ + "/arena/simulate_trace_philly.csv";
  }
  RunResult run(const std::string& policy, ArenaRestartCost cost) {
    options_.policy = policy;
    options_.restart_cost = cost;
    auto result = run_arena(options_);
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return std::move(*result);
  }
  ArenaOptions options_;
};

TEST_F(RunArenaOnPhilly, fifo_gives_the_published_times_and_throughput) {
  const auto text = read_whole_file(options_.data + "/physics/expected/arena_fcfs_philly.json");
  ASSERT_TRUE(text);
  const auto expected = parse_yaml(*text, "expected");
  ASSERT_TRUE(expected);
  const auto numbers = [&](const std::string& key) {
    std::vector<double> values;
    for (std::size_t i = 0; i < expected->keys.size(); ++i)
      if (expected->keys[i].text == key)
        for (const YamlNode& item : expected->items[i].items)
          values.push_back(std::stod(item.text));
    return values;
  };
  const RunResult result = run("fifo", ArenaRestartCost::kOthers);
  // In the order of their ends, and of their starts where those are equal.
  std::vector<std::tuple<double, double, std::size_t>> order;
  for (std::size_t i = 0; i < result.jobs.size(); ++i)
    if (const JobResult& job = result.jobs[i]; job.finish_s)
      order.emplace_back(*job.finish_s, *job.first_start_s, i);
  std::sort(order.begin(), order.end());
  std::vector<double> times;
  std::vector<double> queues;
  for (const auto& [end, start, i] : order) {
    times.push_back(end - result.jobs[i].submit_s);
    queues.push_back(result.jobs[i].queue_s);
  }
  EXPECT_EQ(times.size(), 590u);
  EXPECT_EQ(times, numbers("jct"));
  EXPECT_EQ(queues, numbers("queue"));
  const auto rounds = numbers("thr");
  ASSERT_EQ(result.samples.size(), rounds.size());
  for (std::size_t r = 0; r < rounds.size(); ++r)
    EXPECT_NEAR(result.samples[r].throughput, rounds[r], 0.01) << "round " << r;
}

TEST_F(RunArenaOnPhilly, tutti_does_more_than_the_published_best_at_either_cost) {
  // All 2,000 rounds take minutes in a build that is not optimised.
  options_.rounds = 200;
  const auto table = CsvTable::read(options_.data + "/arena/reference/philly_crius_throughput.csv");
  ASSERT_TRUE(table);
  double published = 0;
  for (std::size_t row = 0; row < options_.rounds; ++row) published += *table->number(row, 0);
  for (const auto cost : {ArenaRestartCost::kCrius, ArenaRestartCost::kOthers}) {
    double sum = 0;
    for (const ClusterSample& sample : run("tutti", cost).samples) sum += sample.throughput;
    EXPECT_GT(sum, published);
  }
}

}  // namespace
}  // namespace tutti
