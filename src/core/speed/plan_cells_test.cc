#include "core/speed/plan_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SpeedEstimate takes(double seconds) {
  return {.seconds = seconds};
}

TEST(PlanCells, gpus_are_read_with_and_without_nodes) {
  const auto shapes = parse_device_shapes("4xA100-80G, 2x8xV100");
  ASSERT_TRUE(shapes);
  EXPECT_THAT(*shapes, ElementsAre(DeviceShape{"A100-80G", 1, 4}, DeviceShape{"V100", 2, 8}));
  EXPECT_EQ(*parse_device_shapes("2xxavier"), (std::vector<DeviceShape>{{"xavier", 1, 2}}));
  for (const char* text : {"", "A100", "4x", "0xA100", "4xA100,", "xA100", "4xA_1", "9999xA100"})
    EXPECT_FALSE(parse_device_shapes(text)) << text;
}

TEST(PlanCells, a_number_that_cannot_be_is_no_part_of_a_type) {
  for (const char* text : {"2x0xV100", "0x2xV100", "2x1025xV100", "100001x8xV100"})
    EXPECT_THAT(parse_device_shapes(text).error().message,
                HasSubstr("there are 1 to 1024 GPUs on each of 1 to 100000 nodes"))
        << text;
  EXPECT_THAT(parse_device_shapes("2x2x8xV100").error().message, HasSubstr("names no GPUs"));
}

TEST(PlanCells, shapes_are_powers_of_two_and_whole_nodes) {
  const std::vector<DeviceShape> available = {{"a", 3, 6}};
  EXPECT_THAT(shapes_within(available),
              ElementsAre(DeviceShape{"a", 1, 1}, DeviceShape{"a", 1, 2}, DeviceShape{"a", 1, 4},
                          DeviceShape{"a", 1, 6}, DeviceShape{"a", 2, 6}, DeviceShape{"a", 3, 6}));
}

TEST(PlanCells, a_type_may_tell_its_memory) {
  EXPECT_EQ(memory_in_type("A100-80G"), MiB(81920));
  for (const char* type : {"A100-MIG", "A-G", "", "-G", "X100"})
    EXPECT_EQ(memory_in_type(type), MiB()) << type;
}

TEST(PlanCells, a_usual_type_has_at_most_what_is_sold) {
  EXPECT_EQ(memory_in_type("a10"), MiB(24 * 1024));
  EXPECT_EQ(memory_in_type("L40S"), MiB(48 * 1024));
  SpeedTable table;
  table.set({{"moe", 10'000'000'000, 256}, {"A10", 4, 4}}, {8});
  const std::vector<DeviceShape> shapes = {{"A10", 1, 1}, {"A10", 4, 4}};
  const auto cells = plan_cells(table, {"moe", 10'000'000'000, 256}, shapes);
  EXPECT_FALSE(cells.front().estimate->fits);  // 149 GiB
  const auto guessed = std::find_if(cells.begin(), cells.end(), [](const PlannedCell& one) {
    return one.basis == StageBasis::kBestPlan;
  });
  ASSERT_NE(guessed, cells.end());
  EXPECT_GE(guessed->cell.stages, 8u);
}

TEST(PlanCells, the_cost_is_devices_times_seconds) {
  SpeedTable table;
  table.set({{"bert", 1'000'000'000, 64}, {"a", 1, 4}}, {2.5});
  const std::vector<DeviceShape> shapes = {{"a", 1, 4}, {"b", 1, 4}};
  const auto cells = plan_cells(table, {"bert", 1'000'000'000, 64}, shapes);
  ASSERT_EQ(cells.size(), 4u);  // with 1, 2 and 4 stages; nothing is known of the other type
  EXPECT_DOUBLE_EQ(cells[1].cost(), 10);
  EXPECT_FALSE(cells[3].estimate);
  EXPECT_EQ(cells[3].cost(), 0);
}

TEST(PlanCells, what_failed_on_devices_of_unknown_size_fits_much_larger_ones_in_enough_stages) {
  SpeedTable table;
  const ModelRun run{"bert", 6'700'000'000, 512};
  table.set({run, {"a100", 2, 2}}, {0});
  table.set({run, {"a100", 2, 4}}, {24});
  const std::vector<DeviceShape> shapes = {{"A100-80G", 1, 4}};
  const auto cells = plan_cells(table, run, shapes);
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_FALSE(cells[1].estimate->fits) << "two stages need 50 GB of each";
  EXPECT_TRUE(cells[2].estimate->fits) << "four need 25 GB";
}

TEST(ByPreference, the_fastest_comes_first_and_of_equals_the_first) {
  const std::vector<std::optional<SpeedEstimate>> speeds = {takes(3), takes(1), takes(2), takes(1)};
  EXPECT_THAT(by_preference(speeds), ElementsAre(1, 3, 2, 0));
}

TEST(ByPreference, what_is_not_known_keeps_its_order_behind_what_is) {
  const std::vector<std::optional<SpeedEstimate>> speeds = {std::nullopt, takes(9), std::nullopt};
  EXPECT_THAT(by_preference(speeds), ElementsAre(1, 0, 2));
}

TEST(ByPreference, what_does_not_fit_is_left_out_and_what_might_not_comes_last) {
  const SpeedEstimate measured{.measured = true, .fits = false};
  const SpeedEstimate estimated{.fits = false, .seconds = 1};
  const std::vector<std::optional<SpeedEstimate>> speeds = {measured, estimated, std::nullopt};
  EXPECT_THAT(by_preference(speeds), ElementsAre(2, 1));
  const std::vector<std::optional<SpeedEstimate>> hopeless = {measured};
  EXPECT_THAT(by_preference(hopeless), ElementsAre(0));
}

}  // namespace
}  // namespace tutti
