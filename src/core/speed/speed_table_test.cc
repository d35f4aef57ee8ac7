#include "core/speed/speed_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

SpeedCell bert_on(const std::string& type, std::uint32_t per_node = 4) {
  return {{"bert", 1'300'000'000, 128}, {type, 1, per_node}};
}

TEST(SpeedTable, the_newest_speed_of_a_cell_counts) {
  SpeedTable table;
  table.set(bert_on("a100"), {3});
  table.set(bert_on("a100"), {2});
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table.find(bert_on("a100"))->seconds, 2);
  EXPECT_EQ(table.find(bert_on("a100", 8)), nullptr);
}

TEST(SpeedTable, types_that_differ_in_case_alone_are_one) {
  SpeedTable table;
  table.set(bert_on("a100"), {3});
  table.set(bert_on("A100", 8), {2});
  EXPECT_THAT(table.types(), UnorderedElementsAre("a100"));
  EXPECT_NE(table.find(bert_on("A100")), nullptr);
}

TEST(SpeedTable, a_nodes_type_is_known_by_what_it_is_a_size_of) {
  SpeedTable table;
  table.set(bert_on("a100"), {3});
  table.set(bert_on("V100-32G"), {5});
  EXPECT_THAT(table.names_of("A100-80G"), ElementsAre("a100"));
  EXPECT_THAT(table.names_of("v100"), ElementsAre("V100-32G"));
  EXPECT_THAT(table.names_of("A10"), IsEmpty());
  EXPECT_EQ(table.find(bert_on("A100-80G"))->seconds, 3);
}

TEST(SpeedTable, of_two_sizes_each_has_its_own_speed) {
  SpeedTable table;
  table.set(bert_on("A100-40G"), {0});
  table.set(bert_on("A100-80G"), {3});
  EXPECT_FALSE(table.find(bert_on("A100-40G"))->fits());
  EXPECT_TRUE(table.find(bert_on("a100-80g"))->fits());
}

TEST(SpeedTable, each_cell_is_found_by_the_nearest_name_that_has_it) {
  SpeedTable table;
  table.set(bert_on("V100"), {5});
  table.set(bert_on("V100", 8), {3});
  table.set(bert_on("V100-16G", 8), {4});
  EXPECT_THAT(table.names_of("V100-16G"), ElementsAre("V100-16G", "V100"));
  EXPECT_EQ(table.find(bert_on("V100-16G"))->seconds, 5);
  EXPECT_EQ(table.find(bert_on("V100-16G", 8))->seconds, 4);
  EXPECT_EQ(table.find(bert_on("V100", 8))->seconds, 3);
  EXPECT_EQ(table.name_in(bert_on("V100-16G")), "V100");
  EXPECT_EQ(table.name_in(bert_on("V100-16G", 8)), "V100-16G");
  EXPECT_EQ(table.name_in(bert_on("V100-16G", 2)), "V100-16G");
}

TEST(SpeedTable, what_is_forgotten_takes_its_type_along) {
  SpeedTable table;
  table.set(bert_on("a100"), {3});
  table.set(bert_on("a100", 8), {2});
  table.erase(bert_on("a100"));
  EXPECT_THAT(table.names_of("A100-80G"), ElementsAre("a100"));
  table.erase(bert_on("a100", 8));
  table.erase(bert_on("a100", 8));
  EXPECT_EQ(table, SpeedTable());
}

TEST(SpeedTable, the_best_plan_is_the_fastest_that_was_measured) {
  SpeedTable table;
  SpeedCell cell = bert_on("a100");
  table.set(cell, {3});
  for (const auto& [stages, seconds] : {std::pair(1u, 0.0), {2u, 2.0}, {4u, 5.0}}) {
    cell.stages = stages;
    table.set(cell, {seconds});
  }
  EXPECT_EQ(table.size(), 4u);
  EXPECT_EQ(table.find(bert_on("a100"))->seconds, 3);
  const SpeedTable best = table.best();
  EXPECT_EQ(best.size(), 1u);
  EXPECT_EQ(best.find(bert_on("a100"))->seconds, 2);
}

TEST(SpeedTable, stages_that_do_not_fit_say_nothing_of_a_cell_of_several_devices) {
  SpeedTable table;
  SpeedCell several = bert_on("a100");
  SpeedCell one = bert_on("a100", 1);
  several.stages = one.stages = 1;
  table.set(several, {0});
  table.set(one, {0});
  const SpeedTable best = table.best();
  EXPECT_EQ(best.find(bert_on("a100")), nullptr);
  EXPECT_FALSE(best.find(bert_on("a100", 1))->fits());
}

TEST(SpeedTable, the_best_plans_of_two_sizes_stay_apart) {
  SpeedTable table;
  table.set(bert_on("A100"), {3});
  table.set(bert_on("A100-40G"), {5});
  EXPECT_EQ(table.best(), table);
}

TEST(SpeedTable, models_are_told_once_each) {
  SpeedTable table;
  table.set(bert_on("a100"), {3});
  table.set(bert_on("a100", 8), {2});
  table.set({{"moe", 1, 1}, {"t4", 1, 1}}, {1});
  EXPECT_THAT(table.models(), ElementsAre("bert", "moe"));
}

}  // namespace
}  // namespace tutti
