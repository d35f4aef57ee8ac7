#include "core/speed/iteration_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(IterationTimes, every_line_that_reports_one_counts) {
  EXPECT_THAT(parse_iteration_times("loading\niteration_time: 0.5\n[3] iteration_time=2 s\n"
                                    "{\"iteration_time\": 1.25}\n"),
              ElementsAre(0.5, 2, 1.25));
}

TEST(IterationTimes, what_is_no_time_is_left_out) {
  EXPECT_THAT(parse_iteration_times("iteration_time\niteration_time: -1\niteration_time: nan\n"
                                    "iteration_time: x\niteration_times are 3\niteration_time:\n"),
              IsEmpty());
}

TEST(IterationTimes, the_first_fifth_is_warming_up) {
  // Of ten the first two go, and the median of 3..10 is between 6 and 7.
  EXPECT_DOUBLE_EQ(*settled_time({100, 50, 3, 4, 5, 6, 7, 8, 9, 10}), 6.5);
  EXPECT_DOUBLE_EQ(*settled_time({9, 1, 2, 3}), 2);
  EXPECT_DOUBLE_EQ(*settled_time({9, 1}), 1);
}

TEST(IterationTimes, a_run_that_has_not_warmed_up_tells_nothing) {
  EXPECT_FALSE(settled_time({9}));
  EXPECT_FALSE(settled_time({}));
}

}  // namespace
}  // namespace tutti
