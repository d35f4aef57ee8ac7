#include "wire/speed_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <iterator>

#include "core/speed/speed_estimator.h"
#include "core/speed/speed_text.h"
#include "tests/support/benchmark_data.h"

namespace tutti {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kSmall =
    "{\n\"optimal\": {\n"
    "\"bert_1.3B_128\": {\n\"1_a100_1_n_2_d\": 5.5,\n\"2_a40_2_n_1_d\": 13\n},\n"
    "\"bert_15B_256\": {\n\"1_v100_1_n_16_d\": -1.0\n},\n"
    "\"bert_39B_128\": {}\n}\n}\n";

TEST(SpeedJson, a_table_is_read_and_written_as_it_was) {
  const auto table = read_speeds(kSmall);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->size(), 3u);
  EXPECT_FALSE(table->find({{"bert", 15'000'000'000, 256}, {"v100", 1, 16}})->fits());
  EXPECT_EQ(*read_speeds(speeds_text(*table)), *table);
  EXPECT_EQ(*read_speeds(speed_csv(*table)), *table);
  EXPECT_EQ(*speeds_from_json(speeds_to_json(*table)), *table);
  EXPECT_TRUE(looks_like_speeds(kSmall));
  EXPECT_TRUE(looks_like_speeds(speed_csv(*table)));
  EXPECT_FALSE(looks_like_speeds("{\"version\": 1}"));
}

TEST(SpeedJson, a_byte_order_mark_is_no_part_of_a_table) {
  const auto table = read_speeds(kSmall);
  for (const std::string& text : {std::string(kSmall), speed_csv(*table)}) {
    EXPECT_TRUE(looks_like_speeds("\xEF\xBB\xBF" + text));
    EXPECT_EQ(*read_speeds("\xEF\xBB\xBF" + text), *table);
  }
  EXPECT_TRUE(looks_like_speeds("\"model\",\"parameters\"\n"));
  EXPECT_EQ(read_speeds(" \n").error().message, "line 1: there is nothing in it");
}

TEST(SpeedJson, cells_may_have_definite_stages) {
  const auto table = read_speeds(
      "{\"optimal\": {\"bert_1B_2\": {\"1_a_1_n_4_d\": 1, \"1_a_1_n_4_d_2_s\": 1.5, "
      "\"1_a_1_n_4_d_1_s\": -1}}}");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->find({{"bert", 1'000'000'000, 2}, {"a", 1, 4}, 2})->seconds, 1.5);
  EXPECT_EQ(*read_speeds(speeds_text(*table)), *table);
  EXPECT_EQ(*read_speeds(speed_csv(*table)), *table);
  EXPECT_EQ(*speeds_from_json(speeds_to_json(*table)), *table);
  EXPECT_THAT(
      read_speeds("{\"optimal\": {\n\"b_1B_2\": {\n\"1_a_1_n_4_d_5_s\": 1}}}").error().message,
      StartsWith("line 3: b_1B_2: '1_a_1_n_4_d_5_s': stages must be"));
}

TEST(SpeedJson, an_empty_table_is_one_too) {
  EXPECT_TRUE(read_speeds(speeds_text({}))->empty());
}

TEST(SpeedJson, errors_name_the_line) {
  EXPECT_THAT(read_speeds("{\n\"optimal\": {\n,}}").error().message, StartsWith("line 3: JSON:"));
  EXPECT_THAT(read_speeds("{\"optimum\": {}}").error().message,
              HasSubstr("unknown key 'optimum' in a table of speeds, did you mean 'optimal'?"));
  EXPECT_THAT(read_speeds("{\"optimal\": []}").error().message, HasSubstr("an object 'optimal'"));
  EXPECT_THAT(read_speeds("{\"optimal\": {\n\"bert_1B_2\": {\"1_a_1_n_2_d\": 1},\n"
                          "\"bert_1B_4\": {\n\"1_a_1_n_2_d\": \"x\"}}}")
                  .error()
                  .message,
              StartsWith("line 4: bert_1B_4: 1_a_1_n_2_d: seconds must be a number"));
  EXPECT_THAT(read_speeds("{\"optimal\": {\n\n\"bert\": {}}}").error().message,
              StartsWith("line 3: 'bert' is not MODEL_SIZE_BATCH"));
  EXPECT_THAT(read_speeds("{\"optimal\": {\"b_1B_2\": {\"1_a_1_n_2_d\": 1, \"1_A_1_n_2_d\": 1}}}")
                  .error()
                  .message,
              HasSubstr("stands twice"));
}

TEST(SpeedJson, estimates_for_the_published_table_are_right_to_a_few_percent) {
  const auto data = benchmark_data(TUTTI_BENCHMARK_FOLDER);
  if (!data) GTEST_SKIP() << kNoBenchmarkData;
  const std::string path = *data + "/arena/prof_database.json";
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto table = read_speeds(text);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->size(), 329u);
  EXPECT_EQ(*read_speeds(speeds_text(*table)), *table);
  const SpeedCheck all = check_speeds(*table).back();
  EXPECT_EQ(all.cells, 318u);
  EXPECT_EQ(all.unfit, 11u);
  EXPECT_LE(all.median_error, 0.06);
  EXPECT_LE(all.p90_error, 0.20);
  EXPECT_GE(all.inside, 0.8);
  EXPECT_GE(all.memory_accuracy(), 0.97);
}

}  // namespace
}  // namespace tutti
