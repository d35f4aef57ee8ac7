#include "core/spec/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using testing::ElementsAre;

TEST(csv_cells, a_cell_may_stand_in_quotes) {
  EXPECT_THAT(*csv_cells("a, b ,"), ElementsAre("a", "b", ""));
  EXPECT_THAT(*csv_cells("\"a\", \"b, c\" ,d,\"\""), ElementsAre("a", "b, c", "d", ""));
  EXPECT_THAT(*csv_cells("\"a\","), ElementsAre("a", ""));
  EXPECT_THAT(*csv_cells(""), ElementsAre(""));
}

TEST(csv_cells, other_quotes_are_not_understood) {
  for (const char* line : {"\"", "a\"b", "\"a", "\"a\"b", "\"a\"\"b\"", "a,\"b,c"})
    EXPECT_FALSE(csv_cells(line)) << line;
}

TEST(csv_mark, is_taken_off_the_front) {
  EXPECT_EQ(without_byte_order_mark("\xEF\xBB\xBFjob"), "job");
  EXPECT_EQ(without_byte_order_mark("job"), "job");
}

}  // namespace
}  // namespace tutti
