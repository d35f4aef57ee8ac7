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

// Ten times as fast there, and hardly faster: counted in what each would do with half of both, the
// slowest is fastest if the first has the fast pool half of the time.
TEST(Gavel, pools_are_shared_so_that_the_slowest_gains_most) {
  ElasticWorld world({{"a100", 1, 1}, {"v100", 1, 1}});
  world.job(1, {option_of(0, 1, 10), option_of(1, 1, 1)});
  world.job(1, {option_of(0, 1, 1.1), option_of(1, 1, 1)});
  const auto policy = make_gavel_policy();
  int fast = 0;
  for (int round = 0; round < 20; ++round) {
    world.snapshot.now_s = 360 * round;
    const auto choices = policy->decide(world.snapshot);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      ASSERT_TRUE(choices[i].has_value());
      world.snapshot.jobs[i].current = choices[i];
    }
    fast += choices[0] == 0;
  }
  EXPECT_NEAR(fast, 10, 1);
}

// A third that is another one in every round, so that shares are found anew in every round.
TEST(Gavel, nobody_is_passed_over_for_ever_while_others_come_and_go) {
  ElasticWorld world({{"a100", 1, 1}});
  for (int i = 0; i < 3; ++i) world.job(1, {option_of(0, 1, 1)});
  const auto policy = make_gavel_policy();
  std::vector<int> run(3);
  for (int round = 0; round < 60; ++round) {
    world.snapshot.now_s = 360 * round;
    world.snapshot.jobs[2].id = JobId(100 + round);
    const auto choices = policy->decide(world.snapshot);
    for (std::size_t i = 0; i < 3; ++i) {
      world.snapshot.jobs[i].current = choices[i];
      run[i] += choices[i].has_value();
    }
    world.snapshot.jobs[2].current.reset();
  }
  EXPECT_GT(run[0], 5);
  EXPECT_GT(run[1], 5);
}

TEST(Gavel, devices_that_are_idle_go_to_somebody) {
  ElasticWorld world({{"a100", 1, 4}});
  for (int i = 0; i < 4; ++i) world.job(1, {option_of(0, 1, 1)});
  EXPECT_EQ(rounds_run(world, 5), (std::vector<int>{5, 5, 5, 5}));
}

}  // namespace
}  // namespace tutti
