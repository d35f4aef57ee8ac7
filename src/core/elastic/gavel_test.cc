#include <gtest/gtest.h>

#include "core/elastic/policies.h"
#include "tests/support/elastic_world.h"

namespace tutti {
namespace {

// How many of so many rounds each job runs.
std::vector<int> rounds_run(ElasticWorld& world, int rounds) {
  const auto policy = make_gavel_policy();
  std::vector<int> run(world.snapshot.jobs.size());
  for (int round = 0; round < rounds; ++round) {
    world.snapshot.now_s = 360 * round;
    const auto choices = policy->decide(world.snapshot);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      world.snapshot.jobs[i].current = choices[i];
      run[i] += choices[i].has_value();
    }
  }
  return run;
}

TEST(Gavel, jobs_that_are_alike_take_turns) {
  ElasticWorld world({{"a100", 1, 1}});
  for (int i = 0; i < 3; ++i) world.job(1, {option_of(0, 1, 1)});
  EXPECT_EQ(rounds_run(world, 30), (std::vector<int>{10, 10, 10}));
}

TEST(Gavel, a_pool_goes_to_whom_it_helps_most) {
  // The first is ten times as fast there, the second hardly faster: each has its own.
  ElasticWorld world({{"a100", 1, 1}, {"v100", 1, 1}});
  world.job(1, {option_of(0, 1, 10), option_of(1, 1, 1)});
  world.job(1, {option_of(0, 1, 1.1), option_of(1, 1, 1)});
  const auto choices = make_gavel_policy()->decide(world.snapshot);
  EXPECT_EQ(choices, (Choices{0, 1}));
}

TEST(Gavel, devices_that_are_idle_go_to_somebody) {
  ElasticWorld world({{"a100", 1, 4}});
  for (int i = 0; i < 4; ++i) world.job(1, {option_of(0, 1, 1)});
  EXPECT_EQ(rounds_run(world, 5), (std::vector<int>{5, 5, 5, 5}));
}

}  // namespace
}  // namespace tutti
