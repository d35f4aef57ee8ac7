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

TEST(SpeedText, times_of_iterations_have_three_digits_and_no_exponent) {
  EXPECT_EQ(iteration_text(0.0125), "12.5ms");
  EXPECT_EQ(iteration_text(0.9994), "999ms");
  EXPECT_EQ(iteration_text(0.9996), "1s");
  EXPECT_EQ(iteration_text(2.9559), "2.96s");
  EXPECT_EQ(iteration_text(999.6), "1000s");
  EXPECT_EQ(iteration_text(159'572), "159572s");
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

TEST(SpeedText, names_of_cells_may_end_in_their_stages) {
  const auto cell = parse_cell_name("2_a100_2_n_4_d_3_s");
  ASSERT_TRUE(cell) << cell.error().message;
  EXPECT_EQ(*cell, (SpeedCell{{}, {"a100", 2, 4}, 3}));
  EXPECT_EQ(cell_name(*cell), "2_a100_2_n_4_d_3_s");
  EXPECT_EQ(cell_name(*parse_cell_name("2_a100_2_n_4_d")), "2_a100_2_n_4_d");
  for (const char* text : {"2_a100_2_n_4_d_0_s", "2_a100_2_n_4_d_9_s", "2_a100_2_n_4_d_s",
                           "2_a100_2_n_4_d__s", "2_a100_2_n_4_d_1_s_s", "_d__s", "_s", "_d_s"})
    EXPECT_FALSE(parse_cell_name(text)) << text;
  EXPECT_THAT(parse_cell_name("2_a100_2_n_4_d_9_s").error().message,
              HasSubstr("stages must be a whole number from 1 to 8"));
}

TEST(SpeedText, csv_has_a_column_of_stages_if_some_are_definite) {
  SpeedTable table;
  const ModelRun bert{"bert", 1'300'000'000, 128};
  table.set({bert, {"a100", 1, 4}}, {3});
  table.set({bert, {"a100", 1, 4}, 2}, {3.5});
  const std::string text = speed_csv(table);
  EXPECT_EQ(text, std::string(kStagedHeader) +
                      "\nbert,1.3B,128,a100,1,4,3,\nbert,1.3B,128,a100,1,4,3.5,2\n");
  EXPECT_EQ(*parse_speed_csv(text), table);
}

TEST(SpeedText, stages_that_cannot_be_are_refused_with_their_line) {
  const std::string head = std::string(kStagedHeader) + "\n";
  for (const char* stages : {"0", "5", "x", "-1", "1.5"})
    EXPECT_THAT(parse_speed_csv(head + "bert,1B,2,a100,1,4,1," + stages).error().message,
                StartsWith("line 2: stages must be a whole number from 1 to 4"))
        << stages;
  EXPECT_THAT(parse_speed_csv(head + "bert,1B,2,a100,1,4,1\n").error().message,
              StartsWith("line 2: eight values"));
  EXPECT_THAT(parse_speed_csv(head + "b,1B,2,a,1,4,1,2\nb,1B,2,a,1,4,1,2\n").error().message,
              StartsWith("line 3: the cell b_1B_2 1_a_1_n_4_d_2_s stands twice"));
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

TEST(SpeedText, csv_of_other_programs_is_read) {
  const std::string quoted =
      "\xEF\xBB\xBF\"model\",\"parameters\",batch,type,nodes,devices_per_node,\"seconds\"\r\n"
      "\"bert\",\"1B\",2,\"a100\",1,4,1.5\r\n";
  const auto table = parse_speed_csv(quoted);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(*table, *parse_speed_csv(std::string(kSpeedHeader) + "\nbert,1B,2,a100,1,4,1.5\n"));
  EXPECT_THAT(
      parse_speed_csv(std::string(kSpeedHeader) + "\n\"b\"x,1B,2,a,1,4,1\n").error().message,
      StartsWith("line 2: quotes are understood around a whole cell"));
  EXPECT_THAT(parse_speed_csv("parameters,model,batch\n").error().message,
              HasSubstr("in this order"));
}

TEST(SpeedText, errors_in_csv_name_the_line) {
  const std::string head = std::string(kSpeedHeader) + "\r\n";
  EXPECT_THAT(parse_speed_csv("").error().message, StartsWith("line 1: the header"));
  EXPECT_THAT(parse_speed_csv("a,b\n").error().message, StartsWith("line 1: the header"));
  EXPECT_THAT(parse_speed_csv(head + "bert,1B,2,a100,1,4\n").error().message,
              StartsWith("line 2: seven values"));
  EXPECT_THAT(parse_speed_csv(head + "\nbert,1B,2,a100,1,4,x\n").error().message,
              StartsWith("line 3: seconds must be a number"));
  EXPECT_THAT(parse_speed_csv(head + "bert,1B,2,a100,1,4,nan\n").error().message,
              StartsWith("line 2: seconds must be a number, not 'nan'"));
  EXPECT_THAT(parse_speed_csv(head + "bert,1B,2,a100,1,4,1e300\n").error().message,
              HasSubstr("at most ten million"));
  EXPECT_THAT(
      parse_speed_csv(head + "bert,1B,2,a100,1,4,1\nbert,1000M,2,A100,1,4,1\n").error().message,
      StartsWith("line 3: the cell bert_1B_2 1_A100_1_n_4_d stands twice"));
}

}  // namespace
}  // namespace tutti
