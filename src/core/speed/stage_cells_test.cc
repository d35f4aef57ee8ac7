#include "core/speed/stage_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::ElementsAre;

// 16 GB of weights, gradients and optimiser state.
const ModelRun kBert{"bert", 1'000'000'000, 64};

SpeedCell on(std::uint32_t devices, std::uint32_t stages = 0) {
  return {kBert, {"a", 1, devices}, stages};
}

constexpr SpeedEstimate kMeasured{.measured = true, .seconds = 3};

std::vector<std::uint32_t> stages_in(const std::vector<PlannedCell>& cells) {
  std::vector<std::uint32_t> stages;
  for (const PlannedCell& one : cells) stages.push_back(one.cell.stages);
  return stages;
}

TEST(RelativeTime, one_stage_exchanges_all_gradients) {
  // Four replicas: 1 + 8 * 4 / 64 * 3 / 4.
  EXPECT_DOUBLE_EQ(relative_time(on(4, 1)), 1.375);
  EXPECT_DOUBLE_EQ(relative_time(on(1, 1)), 1);
}

TEST(RelativeTime, more_stages_exchange_less_and_have_a_longer_bubble) {
  // Two replicas: 1 + 1 / 16 + 8 * 4 / 64 * 1 / 2 / 2.
  EXPECT_DOUBLE_EQ(relative_time(on(4, 2)), 1.1875);
  // One replica: 1 + 3 / 16.
  EXPECT_DOUBLE_EQ(relative_time(on(4, 4)), 1.1875);
}

TEST(RelativeTime, a_small_batch_has_few_micro_batches) {
  // One replica of eight samples: 1 + 3 / 8.
  EXPECT_DOUBLE_EQ(relative_time({{"bert", 1, 8}, {"a", 1, 4}, 4}), 1.375);
}

TEST(StagedCells, numbers_of_stages_divide_the_devices) {
  EXPECT_THAT(stages_in(staged_cells({}, on(8), kMeasured, {})), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(stages_in(staged_cells({}, on(6), kMeasured, {})), ElementsAre(1, 2, 6));
  EXPECT_THAT(stages_in(staged_cells({}, on(1), kMeasured, {})), ElementsAre(1));
  EXPECT_EQ(staged_cells({}, on(1), kMeasured, {})[0].basis, StageBasis::kKnown);
}

TEST(StagedCells, every_replica_has_a_sample) {
  const auto with_batch = [](std::uint64_t batch) {
    return SpeedCell{{"bert", 1'000'000'000, batch}, {"a", 1, 8}};
  };
  EXPECT_THAT(stages_in(staged_cells({}, with_batch(1), kMeasured, {})), ElementsAre(8));
  EXPECT_THAT(stages_in(staged_cells({}, with_batch(3), kMeasured, {})), ElementsAre(4, 8));
  EXPECT_THAT(stages_in(staged_cells({}, with_batch(8), kMeasured, {})), ElementsAre(1, 2, 4, 8));
  SpeedTable table;
  SpeedCell tensor_parallel = with_batch(1);
  tensor_parallel.stages = 2;
  table.set(tensor_parallel, {5});
  EXPECT_THAT(stages_in(staged_cells(table, with_batch(1), kMeasured, {})), ElementsAre(2, 8));
}

TEST(StagedCells, the_fastest_by_the_model_has_the_time_of_the_best_plan) {
  const auto cells = staged_cells({}, on(4), kMeasured, {});
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[1].estimate, kMeasured);
  EXPECT_EQ(cells[1].basis, StageBasis::kBestPlan);
  EXPECT_DOUBLE_EQ(cells[0].estimate->seconds, 3 * 1.375 / 1.1875);
  EXPECT_EQ(cells[0].basis, StageBasis::kModel);
  EXPECT_FALSE(cells[0].estimate->measured);
}

TEST(StagedCells, what_was_measured_is_the_measure_of_the_others) {
  SpeedTable table;
  table.set(on(4, 1), {3});
  table.set(on(4, 3), {5});
  const auto cells = staged_cells(table, on(4), kMeasured, {});
  EXPECT_THAT(stages_in(cells), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(cells[0].basis, StageBasis::kKnown);
  EXPECT_EQ(cells[0].estimate, kMeasured);
  EXPECT_EQ(cells[2].estimate->seconds, 5);
  // The model takes two stages for faster, but they were not tried.
  EXPECT_DOUBLE_EQ(cells[1].estimate->seconds, 3 * 1.01);
}

TEST(StagedCells, a_best_plan_that_is_faster_than_measured_stages_has_others) {
  SpeedTable table;
  table.set(on(4), {3});
  table.set(on(4, 2), {4});
  const auto cells = staged_cells(table, on(4), kMeasured, {});
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[1].estimate->seconds, 4);
  EXPECT_EQ(cells[2].estimate, kMeasured);
  table.set(on(4, 1), {4});
  table.set(on(4, 4), {4});
  const auto all = staged_cells(table, on(4), kMeasured, {});
  EXPECT_THAT(stages_in(all), ElementsAre(0, 1, 2, 4));
  EXPECT_EQ(all[0].estimate, kMeasured);
}

TEST(StagedCells, a_stage_needs_memory_for_its_part_of_the_model) {
  const auto cells = staged_cells({}, on(4), kMeasured, MiB(5000));  // 16 GB / 4 fit
  EXPECT_FALSE(cells[0].estimate->fits);
  EXPECT_FALSE(cells[1].estimate->fits);
  EXPECT_EQ(cells[2].estimate, kMeasured);
  EXPECT_EQ(least_memory(on(4, 2)), MiB(7629));
}

TEST(StagedCells, the_most_stages_fit_where_something_did_against_expectation) {
  const auto cells = staged_cells({}, on(4), kMeasured, MiB(1000));
  EXPECT_FALSE(cells[0].estimate->fits);
  EXPECT_EQ(cells[2].estimate, kMeasured);
}

TEST(StagedCells, a_cell_that_does_not_fit_does_so_with_no_stages) {
  const SpeedEstimate unfit{.measured = true, .fits = false, .chance = 0};
  for (const PlannedCell& one : staged_cells({}, on(4), unfit, {})) EXPECT_EQ(one.estimate, unfit);
}

TEST(StagedCells, of_a_cell_that_nothing_is_known_of_there_is_one) {
  EXPECT_THAT(stages_in(staged_cells({}, on(4), std::nullopt, {})), ElementsAre(0));
}

}  // namespace
}  // namespace tutti
