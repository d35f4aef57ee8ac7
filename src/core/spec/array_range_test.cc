#include "core/spec/array_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::HasSubstr;

TaskSet array_of(std::uint32_t count, std::int64_t first, std::int64_t step,
                 std::uint32_t parallel) {
  return {TaskSet::Shape::kArray, count, first, step, parallel};
}

TEST(ArrayRange, reads_first_last_step_and_parallel) {
  EXPECT_EQ(*parse_array_range("1-100%4"), array_of(100, 1, 1, 4));
  EXPECT_EQ(*parse_array_range("0-9:2"), array_of(5, 0, 2, 0));
  EXPECT_EQ(*parse_array_range("0-8:2%3"), array_of(5, 0, 2, 3));
  EXPECT_EQ(*parse_array_range("5"), array_of(1, 5, 1, 0));
  EXPECT_EQ(*parse_array_range("5-5:7"), array_of(1, 5, 1, 0));
  EXPECT_EQ(*parse_array_range("0-9999999"), array_of(10'000'000, 0, 1, 0));
}

TEST(ArrayRange, of_more_than_ten_million_tasks_is_refused) {
  EXPECT_THAT(parse_array_range("0-10000000").error().message, HasSubstr("10000001 tasks"));
  EXPECT_FALSE(parse_array_range("0-999999999999999"));
  EXPECT_TRUE(parse_array_range("0-999999999999999:999999999"));
}

TEST(ArrayRange, list_is_refused_with_what_to_use_instead) {
  EXPECT_THAT(parse_array_range("1,5,9").error().message, HasSubstr("tutti batch"));
}

TEST(ArrayRange, junk_is_refused) {
  for (const char* text : {"",
                           "-",
                           "1-",
                           "-5",
                           "-5-5",
                           "5-1",
                           "1-5:0",
                           "1-5:",
                           "5:2",
                           "1-5%0",
                           "1-5%",
                           "1-5%x",
                           "%4",
                           "a-b",
                           "1-5-9",
                           "1-5:2:2",
                           "1-5%2%3",
                           "1.5-3",
                           "1 - 5",
                           "99999999999999999999",
                           "0-18446744073709551615"}) {
    EXPECT_FALSE(parse_array_range(text)) << text;
  }
}

TEST(ArrayRange, is_written_as_it_is_read) {
  for (const char* text : {"5", "1-100", "0-8:2", "1-100%4", "0-8:2%3"}) {
    EXPECT_EQ(format_array_range(*parse_array_range(text)), text);
  }
  EXPECT_EQ(format_array_range(*parse_array_range("0-9:2")), "0-8:2");
}

}  // namespace
}  // namespace tutti
