#include "core/spec/log_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::HasSubstr;

const LogNames kNames = {"12", "7", "2", "a/b", "ann", "31"};

TEST(LogPattern, marks_are_replaced) {
  EXPECT_EQ(expand_log_pattern("logs/%j-%t.a%a.%n.%u.%l.100%%", kNames),
            "logs/12-7.a2.a_b.ann.31.100%");
  EXPECT_EQ(expand_log_pattern("plain", kNames), "plain");
}

TEST(LogPattern, names_cannot_lead_to_another_folder) {
  EXPECT_EQ(expand_log_pattern("%n/%u", {"1", "1", "1", "..", "../x", "1"}), "_/.._x");
}

TEST(LogPattern, unknown_mark_is_an_error_that_names_the_known_ones) {
  EXPECT_TRUE(check_log_pattern("%j%t%l%a%n%u%%"));
  EXPECT_THAT(check_log_pattern("a%x").error().message, HasSubstr("'%x' is unknown; known are %j"));
  EXPECT_FALSE(check_log_pattern("a%"));
  EXPECT_FALSE(check_log_pattern("%%%J"));
}

TEST(LogPattern, escaped_percent_is_not_a_mark) {
  EXPECT_TRUE(log_pattern_has("a%t", 't'));
  EXPECT_FALSE(log_pattern_has("a%%t", 't'));
}

}  // namespace
}  // namespace tutti
