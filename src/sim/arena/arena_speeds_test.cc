#include "sim/arena/arena_speeds.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

const std::vector<Pool> kSpeedPools{{"a100", 4, 4}, {"a40", 8, 2}};

ArenaSpeeds database(const std::string& text) {
  auto speeds = ArenaSpeeds::parse(text, "d.json");
  EXPECT_TRUE(speeds) << (speeds ? "" : speeds.error().message);
  return std::move(*speeds);
}

ArenaJob bert(const std::string& size, std::uint32_t devices = 1,
              const std::string& type = "a100") {
  ArenaJob job;
  job.model = "bert";
  job.size = size;
  job.batch = 128;
  job.devices = devices;
  job.type = type;
  return job;
}

TEST(ArenaSpeeds, are_batch_by_iteration_time_with_three_decimals) {
  const auto speeds = database(R"({"optimal": {"bert_760M_128": {"1_a100_1_n_2_d": 3.4389}}})");
  const auto speed = speeds.usual(bert("760M"), kSpeedPools, 0, 2);
  ASSERT_TRUE(speed);
  EXPECT_EQ(speed->shape, (Shape{0, 1, 2}));
  EXPECT_DOUBLE_EQ(speed->samples_per_s, 37.221);  // 128 / 3.4389 = 37.2212…
  EXPECT_DOUBLE_EQ(speed->iteration_s, 3.439);     // 128 / 37.221 = 3.4389…
}

TEST(ArenaSpeeds, many_devices_are_full_nodes) {
  const auto speeds = database(R"({"optimal": {"bert_760M_128": {"2_a100_2_n_4_d": 2}}})");
  const auto speed = speeds.usual(bert("760M"), kSpeedPools, 0, 8);
  ASSERT_TRUE(speed);
  EXPECT_EQ(speed->shape, (Shape{0, 2, 8}));
  EXPECT_FALSE(speeds.usual(bert("760M"), kSpeedPools, 0, 32)) << "more than the pool has";
}

TEST(ArenaSpeeds, what_was_not_measured_is_that_of_larger_models_and_faster_by_each_step) {
  const auto speeds = database(R"({"optimal": {"bert_2.6B_128": {"1_a100_1_n_1_d": 10}}})");
  const auto speed = speeds.usual(bert("760M"), kSpeedPools, 0, 1);
  ASSERT_TRUE(speed);
  EXPECT_DOUBLE_EQ(speed->samples_per_s, 41.472);  // 128 / 10 × 1.8 × 1.8
  EXPECT_FALSE(speeds.usual(bert("6.7B"), kSpeedPools, 0, 1)) << "smaller ones say nothing";
}

TEST(ArenaSpeeds, what_was_measured_not_to_run_does_not) {
  const auto speeds = database(R"({"optimal": {
    "bert_760M_128": {"1_a100_1_n_1_d": -1.0, "1_a100_1_n_2_d": 301, "1_a100_1_n_4_d": 300},
    "bert_1.3B_128": {"1_a100_1_n_1_d": 5}}})");
  EXPECT_FALSE(speeds.usual(bert("760M"), kSpeedPools, 0, 1));
  EXPECT_FALSE(speeds.usual(bert("760M"), kSpeedPools, 0, 2));
  EXPECT_TRUE(speeds.usual(bert("760M"), kSpeedPools, 0, 4));
}

TEST(ArenaSpeeds, all_has_the_fastest_layout_of_each_number_of_devices) {
  const auto speeds = database(R"({"optimal": {"bert_760M_128": {
    "1_a100_1_n_4_d": 4, "2_a100_2_n_2_d": 3, "1_a40_1_n_2_d": 8, "2_a40_2_n_1_d": 9}}})");
  const auto all = speeds.all(bert("760M"), kSpeedPools);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].shape, (Shape{0, 2, 4}));
  EXPECT_EQ(all[1].shape, (Shape{1, 1, 2}));
}

TEST(ArenaSpeeds, what_is_asked_for_is_laid_out_as_usual) {
  const auto speeds =
      database(R"({"optimal": {"bert_760M_128": {"1_a100_1_n_4_d": 4, "2_a100_2_n_2_d": 3}}})");
  const auto all = speeds.all(bert("760M", 4), kSpeedPools);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].shape, (Shape{0, 1, 4}));
}

TEST(ArenaSpeeds, what_is_wrong_is_said_with_file_and_line) {
  const auto error = [](const std::string& text) {
    const auto speeds = ArenaSpeeds::parse(text, "d.json");
    return speeds ? std::string() : speeds.error().message;
  };
  EXPECT_EQ(error("{\"optimal\": {\n\"bert_760M_128\": {\"2_a100_1_n_2_d\": 1}}}").substr(0, 9),
            "d.json:2:");
  EXPECT_EQ(error("{\"optimal\": {\n\"bert_760M_128\": {\"1_a100_1_n_2_d\": fast}}}").substr(0, 9),
            "d.json:2:");
  EXPECT_EQ(error("{\"best\": {}}").substr(0, 9), "d.json:1:");
  EXPECT_FALSE(error("{\"optimal\": ").empty());
}

TEST(ArenaCluster, has_the_nodes_of_the_benchmark) {
  const auto pools =
      parse_arena_cluster(R"([{"v100": {"node_num": 20}, "a10": {"node_num": 160}}])", "c.json");
  ASSERT_TRUE(pools);
  ASSERT_EQ(pools->size(), 2u);
  EXPECT_EQ((*pools)[0].type, "v100");
  EXPECT_EQ((*pools)[0].devices(), 320u);
  EXPECT_EQ((*pools)[1].devices(), 320u);
}

TEST(ArenaCluster, what_is_wrong_is_said_with_file_and_line) {
  for (const char* text : {"{}", "[{\"h100\": {\"node_num\": 1}}]", "[{\"a10\": {\"nodes\": 1}}]",
                           "[{\"a10\": {\"node_num\": 0}}]", "[{}]"}) {
    const auto pools = parse_arena_cluster(text, "c.json");
    ASSERT_FALSE(pools) << text;
    EXPECT_TRUE(pools.error().message.starts_with("c.json:1:")) << pools.error().message;
  }
}

}  // namespace
}  // namespace tutti
