#include "sim/csv_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using testing::HasSubstr;

TEST(csv_table, columns_have_the_names_of_the_first_line) {
  const auto table = CsvTable::parse("t.csv", "a,b\r\n1,2\n\n3,x\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->rows(), 2u);
  EXPECT_EQ(*table->column("b"), 1u);
  EXPECT_EQ(*table->number(1, 0), 3);
  EXPECT_EQ(table->number(1, 1).error().message, "t.csv:4: 'x' in column 'b' is no number");
  EXPECT_THAT(table->column("c").error().message, HasSubstr("has no column 'c', only a, b"));
}

TEST(csv_table, a_byte_order_mark_is_no_part_of_the_first_name) {
  EXPECT_TRUE(CsvTable::parse("t.csv", "\xEF\xBB\xBFjob,n\nx,1\n")->has("job"));
}

TEST(csv_table, errors_name_the_line) {
  EXPECT_EQ(CsvTable::parse("t.csv", "a,b\n1,\"\n").error().message,
            "t.csv:2: quotes are understood around a whole cell, and without a quote in it");
}

}  // namespace
}  // namespace tutti
