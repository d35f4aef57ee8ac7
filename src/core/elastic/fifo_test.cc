#include <gtest/gtest.h>

#include "core/elastic/policies.h"
#include "tests/support/elastic_world.h"

namespace tutti {
namespace {

TEST(Fifo, one_that_does_not_fit_holds_back_those_behind_it_in_its_pool_only) {
  ElasticWorld world({{"a100", 1, 4}, {"v100", 1, 4}});
  world.job(3, {option_of(0, 3, 1)});
  world.job(2, {option_of(0, 2, 1)});
  world.job(1, {option_of(0, 1, 1)});
  world.job(2, {option_of(1, 2, 1)});
  EXPECT_EQ(make_fifo_policy()->decide(world.snapshot),
            (Choices{0, std::nullopt, std::nullopt, 0}));
}

TEST(Fifo, running_jobs_keep_what_they_have) {
  ElasticWorld world({{"a100", 1, 4}});
  world.job(4, {option_of(0, 4, 1)});
  world.job(1, {option_of(0, 1, 1), option_of(0, 2, 2)}).current = 1;
  EXPECT_EQ(make_fifo_policy()->decide(world.snapshot), (Choices{std::nullopt, 1}));
}

}  // namespace
}  // namespace tutti
