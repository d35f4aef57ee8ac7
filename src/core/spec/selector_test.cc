#include "core/spec/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SelectedJob job(std::uint64_t id, std::vector<std::int64_t> labels = {}) {
  return {JobId(id), std::move(labels)};
}

SelectedJob of_range(std::uint64_t id) {
  return {JobId(id), {}, true};
}

TEST(Selector, names_all_jobs) {
  EXPECT_TRUE(parse_selector("all")->all);
  EXPECT_THAT(parse_selector("all")->jobs, IsEmpty());
}

TEST(Selector, names_the_last_job_with_number_zero) {
  EXPECT_THAT(parse_selector("last")->jobs, ElementsAre(job(0)));
  EXPECT_THAT(parse_selector("last.3")->jobs, ElementsAre(job(0, {3})));
}

TEST(Selector, expands_lists_and_ranges_in_the_order_written) {
  EXPECT_THAT(parse_selector("9, 3,5-8")->jobs,
              ElementsAre(job(9), job(3), of_range(5), of_range(6), of_range(7), of_range(8)));
}

TEST(Selector, names_tasks_by_their_labels) {
  EXPECT_THAT(parse_selector("12.7")->jobs, ElementsAre(job(12, {7})));
  EXPECT_THAT(parse_selector("12.1-3")->jobs, ElementsAre(job(12, {1, 2, 3})));
  EXPECT_THAT(parse_selector("12.0")->jobs, ElementsAre(job(12, {0})));
}

TEST(Selector, merges_what_is_said_about_one_job) {
  EXPECT_THAT(parse_selector("12.3,12.1-3,3-4,3")->jobs,
              ElementsAre(job(12, {1, 2, 3}), job(3), of_range(4)));
  EXPECT_THAT(parse_selector("3-5,5,4.1,3-4")->jobs, ElementsAre(of_range(3), job(4), job(5)));
  EXPECT_THAT(parse_selector("12.3,12")->jobs, ElementsAre(job(12)));
  EXPECT_THAT(parse_selector("12,12.3")->jobs, ElementsAre(job(12)));
}

TEST(Selector, that_is_junk_is_refused) {
  for (const char* text : {"",      ",",      "3,",     "x",    "0",
                           "0-3",   "-3",     "3-",     "8-5",  "all,3",
                           "3,all", "lastly", "12.",    "12.x", "12.5-1",
                           "3-5.1", "12.1.2", "last-3", "1 2",  "99999999999999999999"}) {
    EXPECT_FALSE(parse_selector(text)) << text;
  }
}

TEST(Selector, of_more_than_a_million_is_refused) {
  EXPECT_TRUE(parse_selector("1-1000000"));
  EXPECT_THAT(parse_selector("1-1000001").error().message, HasSubstr("more than a million"));
  EXPECT_FALSE(parse_selector("1-600000,1-600000"));
  EXPECT_FALSE(parse_selector("1-9223372036854775806"));
  EXPECT_FALSE(parse_selector("5.0-9223372036854775806"));
}

}  // namespace
}  // namespace tutti
