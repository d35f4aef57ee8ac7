#include "core/spec/field.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::HasSubstr;

TEST(Field, stated_resources_become_limits) {
  JobSpec spec;
  ASSERT_TRUE(set_field(spec, "cpus", "2"));
  ASSERT_TRUE(set_field(spec, "mem", "1G"));
  EXPECT_TRUE(spec.request.limit_cpus);
  EXPECT_TRUE(spec.request.limit_memory);
  ASSERT_TRUE(set_field(spec, "mem", "0"));
  EXPECT_FALSE(spec.request.limit_memory) << "no memory stated, no limit";
}

TEST(Field, max_parallel_may_come_before_or_after_the_array) {
  JobSpec before;
  ASSERT_TRUE(set_field(before, "max_parallel", "3"));
  ASSERT_TRUE(set_field(before, "array", "1-9"));
  JobSpec after;
  ASSERT_TRUE(set_field(after, "array", "1-9"));
  ASSERT_TRUE(set_field(after, "max_parallel", "3"));
  EXPECT_EQ(before, after);
  EXPECT_EQ(after.tasks.max_parallel, 3u);
}

TEST(Field, every_listed_one_is_known_and_refuses_empty_text) {
  for (const std::string_view field : scalar_fields()) {
    JobSpec spec;
    const auto stored = set_field(spec, field, "");
    ASSERT_FALSE(stored) << field;
    EXPECT_THAT(stored.error().message, HasSubstr(std::string(field)));
    EXPECT_EQ(stored.error().message.find("unknown"), std::string::npos);
  }
}

TEST(Field, unknown_one_is_an_error_with_the_nearest) {
  JobSpec spec;
  EXPECT_THAT(set_field(spec, "gpu_memory", "1G").error().message, HasSubstr("'gpu_mem'"));
  EXPECT_EQ(spec, JobSpec());
}

TEST(Field, retries_are_at_most_a_thousand) {
  JobSpec spec;
  EXPECT_TRUE(set_field(spec, "retries", "1000"));
  EXPECT_FALSE(set_field(spec, "retries", "1001"));
  EXPECT_FALSE(set_field(spec, "retries", "-1"));
}

}  // namespace
}  // namespace tutti
