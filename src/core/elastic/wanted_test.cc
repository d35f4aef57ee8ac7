#include "core/elastic/wanted.h"

#include <gtest/gtest.h>

#include "tests/support/elastic_world.h"

namespace tutti {
namespace {

ElasticJob job_with(std::uint32_t wanted, std::vector<ShapeOption> options) {
  ElasticJob job;
  job.wanted = wanted;
  job.options = std::move(options);
  return job;
}

TEST(WantedOption, is_the_number_that_was_asked_for) {
  const auto job = job_with(2, {option_of(0, 1, 1), option_of(0, 2, 2), option_of(0, 4, 4)});
  EXPECT_EQ(wanted_option(job), 1u);
}

TEST(WantedOption, is_the_next_smaller_number_if_it_does_not_run_with_so_many) {
  const auto job = job_with(8, {option_of(0, 2, 2), option_of(0, 4, 4), option_of(0, 16, 9)});
  EXPECT_EQ(wanted_option(job), 1u);
}

TEST(WantedOption, is_the_next_larger_number_if_it_does_not_run_with_less) {
  const auto job = job_with(1, {option_of(0, 8, 8), option_of(0, 4, 4)});
  EXPECT_EQ(wanted_option(job), 1u);
}

TEST(WantedOption, is_in_the_pool_where_the_job_is_fastest) {
  const auto job = job_with(2, {option_of(0, 2, 2), option_of(1, 2, 3), option_of(1, 4, 6)});
  EXPECT_EQ(wanted_option(job), 1u);
}

TEST(WantedOption, is_in_the_pool_that_was_asked_for) {
  auto job = job_with(2, {option_of(0, 2, 2), option_of(1, 2, 3)});
  job.wanted_pool = 0;
  EXPECT_EQ(wanted_option(job), 0u);
  job.wanted_pool = 2;
  EXPECT_EQ(wanted_option(job), std::nullopt);
}

TEST(FreeDevices, count_what_a_job_would_leave) {
  ElasticWorld world({{"a100", 1, 4}});
  FreeDevices free(world.snapshot);
  free.take({0, 1, 3});
  EXPECT_FALSE(free.fits({0, 1, 4}));
  EXPECT_TRUE(free.fits_instead({0, 1, 4}, Shape{0, 1, 3}));
  EXPECT_FALSE(free.fits_instead({0, 1, 4}, Shape{0, 1, 2}));
}

}  // namespace
}  // namespace tutti
