#include "core/speed/speed_estimator.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tutti {
namespace {

constexpr std::uint64_t kBillion = 1'000'000'000;

SpeedCell cell(const std::string& model, std::uint64_t billions, std::uint64_t batch,
               const std::string& type, std::uint32_t nodes, std::uint32_t per_node) {
  return {{model, billions * kBillion, batch}, {type, nodes, per_node}};
}

// A world that is easy to compute: seconds = factor of the type * size in billions * batch / 256 /
// devices ^ 0.9, a tenth more on several nodes.
double true_seconds(const SpeedCell& one) {
  const double type = one.shape.type == "fast" ? 4 : 8;
  const double work =
      static_cast<double>(one.run.parameters) / kBillion * static_cast<double>(one.run.batch) / 256;
  return type * work / std::pow(one.shape.devices(), 0.9) * (one.shape.nodes > 1 ? 1.1 : 1);
}

SpeedTable measured_world() {
  SpeedTable table;
  for (const std::uint64_t size : {1, 2, 4}) {
    for (const std::uint64_t batch : {128, 256, 512}) {
      for (const char* type : {"fast", "slow"}) {
        for (const std::uint32_t devices : {1, 2, 4}) {
          const SpeedCell one = cell("bert", size, batch, type, 1, devices);
          // 4B does not fit one device.
          table.set(one, {size == 4 && devices == 1 ? 0 : true_seconds(one)});
        }
      }
    }
  }
  return table;
}

TEST(SpeedEstimator, what_was_measured_is_not_estimated) {
  const SpeedEstimator estimator(measured_world(), "bert");
  const SpeedCell one = cell("bert", 2, 256, "FAST", 1, 2);
  const auto estimate = estimator.estimate(one);
  ASSERT_TRUE(estimate);
  EXPECT_TRUE(estimate->measured);
  EXPECT_DOUBLE_EQ(estimate->seconds, true_seconds(cell("bert", 2, 256, "fast", 1, 2)));
  EXPECT_DOUBLE_EQ(estimate->factor, 1);
  const auto unfit = estimator.estimate(cell("bert", 4, 256, "slow", 1, 1));
  EXPECT_TRUE(unfit->measured);
  EXPECT_FALSE(unfit->fits);
}

// Two cards of 40 GB fail with 4B; the table does not say that they had 40 GB.
TEST(SpeedEstimator, failures_of_devices_of_unknown_size_do_not_bind_much_larger_ones) {
  SpeedTable table = measured_world();
  const SpeedCell one = cell("bert", 4, 256, "slow-80G", 1, 2);  // 30 GB of each
  table.set(cell("bert", 4, 256, "slow", 1, 2), {0});
  table.set(cell("bert", 4, 512, "slow", 1, 2), {0});
  table.set(cell("bert", 4, 128, "slow", 1, 2), {0});
  const SpeedEstimator estimator(table, "bert");
  const auto large = estimator.estimate(one, MiB(81920));
  ASSERT_TRUE(large);
  EXPECT_TRUE(large->fits);
  EXPECT_FALSE(large->measured);
  EXPECT_GT(large->seconds, 0);
  EXPECT_FALSE(estimator.estimate(one, MiB(40960))->fits);
  EXPECT_FALSE(estimator.estimate(cell("bert", 4, 256, "slow", 1, 2), MiB(81920))->fits);
  SpeedCell other = one;
  other.run.batch = 300;
  EXPECT_TRUE(estimator.estimate(other, MiB(81920))->fits);
  EXPECT_FALSE(estimator.estimate(other, MiB(40960))->fits);
}

TEST(SpeedEstimator, definite_stages_count_as_far_as_they_are_the_best) {
  SpeedTable table = measured_world();
  SpeedCell one = cell("bert", 2, 256, "fast", 1, 4);
  const double best = true_seconds(one);
  for (const std::uint32_t stages : {1, 2, 4}) {
    one.stages = stages;
    table.set(one, {best * (1 + stages)});
  }
  const SpeedEstimator estimator(table, "bert");
  EXPECT_DOUBLE_EQ(estimator.estimate(one)->seconds, best);
  EXPECT_EQ(estimator.leave_one_out().size(), measured_world().size());
  EXPECT_EQ(check_new_sizes(table).cells, check_new_sizes(measured_world()).cells);
}

TEST(SpeedEstimator, other_sizes_batches_and_counts_are_estimated_well) {
  const SpeedEstimator estimator(measured_world(), "bert");
  for (const SpeedCell& one :
       {cell("bert", 3, 256, "fast", 1, 2), cell("bert", 2, 384, "slow", 1, 4),
        cell("bert", 2, 256, "fast", 1, 3), cell("bert", 2, 256, "slow", 1, 8)}) {
    const auto estimate = estimator.estimate(one);
    ASSERT_TRUE(estimate);
    EXPECT_FALSE(estimate->measured);
    EXPECT_TRUE(estimate->fits);
    EXPECT_NEAR(estimate->seconds / true_seconds(one), 1, 0.1);
    EXPECT_LE(std::abs(std::log(estimate->seconds / true_seconds(one))),
              std::log(estimate->factor));
  }
}

TEST(SpeedEstimator, it_is_less_sure_the_farther_away_it_looks) {
  const SpeedEstimator estimator(measured_world(), "bert");
  const auto near = estimator.estimate(cell("bert", 3, 256, "fast", 1, 2));
  const auto far = estimator.estimate(cell("bert", 70, 4096, "fast", 16, 8));
  EXPECT_LT(near->factor, far->factor);
}

TEST(SpeedEstimator, more_devices_than_samples_are_no_faster) {
  SpeedTable table = measured_world();
  const double two =
      SpeedEstimator(table, "bert").estimate(cell("bert", 2, 2, "fast", 1, 2))->seconds;
  for (const std::uint32_t nodes : {1, 4})
    EXPECT_DOUBLE_EQ(
        SpeedEstimator(table, "bert").estimate(cell("bert", 2, 2, "fast", nodes, 8))->seconds, two);
  table.set(cell("bert", 2, 2, "fast", 1, 2), {9});
  const auto eight = SpeedEstimator(table, "bert").estimate(cell("bert", 2, 2, "fast", 1, 8));
  EXPECT_DOUBLE_EQ(eight->seconds, 9);
  EXPECT_FALSE(eight->measured);
  EXPECT_GT(eight->factor, 1);
}

TEST(SpeedEstimator, another_model_helps_to_know_a_type_of_device) {
  SpeedTable table = measured_world();
  for (const std::uint32_t devices : {1, 2, 4}) {
    const SpeedCell one = cell("moe", 2, 256, "fast", 1, devices);
    table.set(one, {true_seconds(one) / 3});
  }
  const SpeedEstimator estimator(table, "moe");
  const SpeedCell slow = cell("moe", 2, 256, "slow", 1, 4);
  EXPECT_NEAR(estimator.estimate(slow)->seconds / (true_seconds(slow) / 3), 1, 0.25);
}

TEST(SpeedEstimator, one_measurement_of_a_size_does_not_hide_those_of_the_type) {
  SpeedTable table = measured_world();
  const SpeedCell small = cell("bert", 2, 256, "fast-16G", 1, 4);
  const SpeedCell other = cell("bert", 3, 256, "fast-16G", 1, 4);
  const double factor = SpeedEstimator(table, "bert").estimate(other)->factor;
  table.set(cell("mini", 1, 128, "fast-16G", 1, 4), {1.1});
  const SpeedEstimator estimator(table, "bert");
  EXPECT_TRUE(estimator.estimate(small)->measured);
  EXPECT_DOUBLE_EQ(estimator.estimate(small)->seconds,
                   true_seconds(cell("bert", 2, 256, "fast", 1, 4)));
  EXPECT_LE(estimator.estimate(other)->factor, factor * 1.01);
}

TEST(SpeedEstimator, of_an_unknown_model_or_type_nothing_is_said) {
  const SpeedEstimator estimator(measured_world(), "bert");
  EXPECT_FALSE(estimator.estimate(cell("bert", 2, 256, "other", 1, 2)));
  EXPECT_FALSE(SpeedEstimator(measured_world(), "moe").estimate(cell("moe", 2, 256, "fast", 1, 2)));
  EXPECT_FALSE(SpeedEstimator({}, "bert").estimate(cell("bert", 2, 256, "fast", 1, 2)));
}

TEST(SpeedEstimator, memory_is_estimated_by_which_neighbours_fit) {
  const SpeedEstimator estimator(measured_world(), "bert");
  EXPECT_FALSE(estimator.estimate(cell("bert", 4, 384, "fast", 1, 1))->fits);
  EXPECT_TRUE(estimator.estimate(cell("bert", 1, 384, "fast", 1, 1))->fits);
  EXPECT_TRUE(estimator.estimate(cell("bert", 4, 384, "fast", 1, 4))->fits);
}

TEST(SpeedEstimator, what_cannot_fit_a_device_does_not) {
  const SpeedEstimator estimator(measured_world(), "bert");
  const SpeedCell one = cell("bert", 3, 256, "fast", 1, 1);
  // 3e9 parameters * 16 bytes = 45776 MiB.
  EXPECT_EQ(least_memory(one), MiB(45776));
  EXPECT_FALSE(estimator.estimate(one, MiB(40960))->fits);
}

TEST(SpeedEstimator, a_large_table_is_cut_to_what_matters) {
  SpeedTable table = measured_world();
  for (std::uint64_t batch = 1; batch <= 2000; ++batch)
    table.set(cell("moe", 2, batch, "fast", 1, 1), {static_cast<double>(batch)});
  const SpeedEstimator estimator(table, "bert");
  EXPECT_EQ(estimator.leave_one_out().size(), measured_world().size());
  EXPECT_NEAR(estimator.estimate(cell("bert", 3, 256, "fast", 1, 2))->seconds /
                  true_seconds(cell("bert", 3, 256, "fast", 1, 2)),
              1, 0.1);
}

TEST(CheckSpeeds, every_cell_is_compared_with_what_the_others_say) {
  const std::vector<SpeedCheck> checks = check_speeds(measured_world());
  ASSERT_EQ(checks.size(), 2u);
  EXPECT_EQ(checks[0].model, "bert");
  EXPECT_EQ(checks[1].model, "");
  EXPECT_EQ(checks[1].cells, 48u);
  EXPECT_EQ(checks[1].unfit, 6u);
  EXPECT_EQ(checks[1].unfit_found, 6u);
  EXPECT_LT(checks[1].median_error, 0.05);
  EXPECT_GE(checks[1].p90_error, checks[1].median_error);
  EXPECT_GT(checks[1].memory_accuracy(), 0.9);
}

TEST(CheckSpeeds, a_size_that_was_never_measured_is_harder_to_tell) {
  const SpeedCheck sizes = check_new_sizes(measured_world());
  EXPECT_EQ(sizes.cells, 48u);
  EXPECT_EQ(sizes.unfit, 6u);
  EXPECT_LT(sizes.median_error, 0.1);
  EXPECT_GE(sizes.median_error, check_speeds(measured_world()).back().median_error);
}

TEST(CheckSpeeds, of_the_only_size_of_a_model_nothing_can_be_said) {
  SpeedTable table;
  table.set(cell("bert", 1, 128, "fast", 1, 1), {1});
  EXPECT_EQ(check_new_sizes(table).cells, 0u);
}

TEST(CheckSpeeds, an_empty_table_has_nothing_to_check) {
  const std::vector<SpeedCheck> checks = check_speeds({});
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].cells, 0u);
  EXPECT_EQ(checks[0].memory_accuracy(), 0);
}

}  // namespace
}  // namespace tutti
