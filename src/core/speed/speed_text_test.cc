#include "core/speed/speed_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/spec/model_text.h"

namespace tutti {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(SpeedText, parameters_are_read_and_written) {
  EXPECT_EQ(*parse_parameters("1.3B"), 1'300'000'000u);
  EXPECT_EQ(*parse_parameters("760m"), 760'000'000u);
  EXPECT_EQ(*parse_parameters("0.5G"), 500'000'000u);
  EXPECT_EQ(*parse_parameters("1T"), 1'000'000'000'000u);
  EXPECT_EQ(*parse_parameters("12"), 12u);
  EXPECT_EQ(format_parameters(1'300'000'000), "1.3B");
  EXPECT_EQ(format_parameters(760'000'000), "760M");
  EXPECT_EQ(format_parameters(1'050'000), "1.05M");
  EXPECT_EQ(format_parameters(999), "999");
}

TEST(SpeedText, what_is_no_number_of_parameters_is_refused) {
  for (const char* text :
       {"", "B", "1.3", ".5B", "1.B", "-1B", "1e9", "1.3BB", "0M", "2000T", "1.0000000001B", "1 B"})
    EXPECT_FALSE(parse_parameters(text)) << text;
}

TEST(SpeedText, names_of_rows_are_taken_apart_from_the_right) {
  const auto run = parse_model_run("wide_resnet_6.8B_256");
  ASSERT_TRUE(run);
  EXPECT_EQ(*run, (ModelRun{"wide_resnet", 6'800'000'000, 256}));
  EXPECT_EQ(format_model_run(*run), "wide_resnet_6.8B_256");
  for (const char* text :
       {"", "bert", "bert_1B", "_1B_2", "bert_1B_0", "bert_x_2", "__", "a b_1B_2"})
    EXPECT_FALSE(parse_model_run(text)) << text;
}

TEST(SpeedText, names_of_columns_say_the_nodes_twice) {
  const auto shape = parse_column_name("2_a100_2_n_4_d");
  ASSERT_TRUE(shape);
  EXPECT_EQ(*shape, (DeviceShape{"a100", 2, 4}));
  EXPECT_EQ(shape->devices(), 8u);
  EXPECT_EQ(column_name(*shape), "2_a100_2_n_4_d");
  for (const char* text : {"", "2_a100_3_n_4_d", "2_a100_2_n_4", "0_a100_0_n_4_d", "2__2_n_4_d",
                           "2_a100_2_n_0_d", "2_a100_2_n_4_d_", "1_a100_1_n_9999_d"})
    EXPECT_FALSE(parse_column_name(text)) << text;
}

TEST(SpeedText, csv_is_read_as_it_is_written) {
  SpeedTable table;
  table.set({{"bert", 1'300'000'000, 128}, {"a100", 1, 4}}, {2.9559504985809326});
  table.set({{"bert", 15'000'000'000, 256}, {"v100", 1, 16}}, {0});
  const std::string text = speed_csv(table);
  EXPECT_EQ(text,
            "model,parameters,batch,type,nodes,devices_per_node,seconds\n"
            "bert,1.3B,128,a100,1,4,2.9559504985809326\n"
            "bert,15B,256,v100,1,16,-1\n");
  const auto again = parse_speed_csv(text);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, table);
}

TEST(SpeedText, errors_in_csv_name_the_line) {
  const std::string head = std::string(kSpeedHeader) + "\r\n";
  EXPECT_THAT(parse_speed_csv("").error().message, StartsWith("line 1: the header"));
  EXPECT_THAT(parse_speed_csv("a,b\n").error().message, StartsWith("line 1: the header"));
  EXPECT_THAT(parse_speed_csv(head + "bert,1B,2,a100,1,4\n").error().message,
              StartsWith("line 2: seven values"));
  EXPECT_THAT(parse_speed_csv(head + "\nbert,1B,2,a100,1,4,x\n").error().message,
              StartsWith("line 3: seconds must be a number"));
  EXPECT_THAT(parse_speed_csv(head + "bert,1B,2,a100,1,4,1e300\n").error().message,
              HasSubstr("at most ten million"));
  EXPECT_THAT(
      parse_speed_csv(head + "bert,1B,2,a100,1,4,1\nbert,1000M,2,A100,1,4,1\n").error().message,
      StartsWith("line 3: the cell bert_1B_2 1_A100_1_n_4_d stands twice"));
}

}  // namespace
}  // namespace tutti
