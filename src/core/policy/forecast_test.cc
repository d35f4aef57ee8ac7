#include "core/policy/forecast.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/world.h"

namespace tutti {
namespace {

using testing_support::cpus;
using testing_support::gpus;
using testing_support::node;
using testing_support::spec;
using testing_support::with_gpus;
using testing_support::World;

// A job of its own kind with a time limit.
JobSpec lasting(std::int64_t limit, Request request, std::uint32_t tasks = 1) {
  JobSpec one = spec(std::move(request), seconds(1), tasks);
  one.time_limit = seconds(limit);
  return one;
}

// When the newest of these jobs starts; the first ones run.
Duration wait_of(World& world, const std::vector<JobSpec>& running,
                 const std::vector<JobSpec>& waiting) {
  for (const JobSpec& one : running) world.submit(one);
  world.run();
  JobId last;
  for (const JobSpec& one : waiting) last = world.submit(one);
  const Explanation why = world.why(last);
  EXPECT_EQ(why.expected_start_p50, why.expected_start_p90);
  return why.expected_start_p50 - world.now;
}

TEST(forecast, one_long_runner_does_not_delay_the_other_cores) {
  World world({node("a", 2)});
  EXPECT_EQ(wait_of(world, {lasting(36000, cpus(1)), lasting(2, cpus(1))},
                    {lasting(1, cpus(1)), lasting(1, cpus(1))}),
            seconds(3));
}

TEST(forecast, who_would_delay_the_head_starts_after_it) {
  World world({node("a", 2)});
  EXPECT_EQ(wait_of(world, {lasting(20, cpus(1))}, {lasting(1, cpus(2)), lasting(100, cpus(1))}),
            seconds(21));
}

TEST(forecast, who_ends_before_the_head_starts_may_pass_it) {
  World world({node("a", 2)});
  EXPECT_EQ(wait_of(world, {lasting(20, cpus(1)), lasting(5, cpus(1))},
                    {lasting(1, cpus(2)), lasting(10, cpus(1))}),
            seconds(5));
}

TEST(forecast, a_head_on_another_node_is_no_matter) {
  World world({node("a", 2), node("b", 1)});
  EXPECT_EQ(wait_of(world, {lasting(20, cpus(2)), lasting(7, cpus(1))},
                    {lasting(50, cpus(2)), lasting(100, cpus(1))}),
            seconds(7));
}

TEST(forecast, work_for_gpus_does_not_take_cores_that_it_cannot_use) {
  World world({with_gpus(node("a", 2), 1)});
  Request whole = gpus(1);
  whole.cpus = MilliCpu(1000);
  EXPECT_EQ(wait_of(world, {lasting(100, whole), lasting(5, cpus(1))},
                    {lasting(100, whole, 50), lasting(10, cpus(1))}),
            seconds(5));
}

TEST(forecast, a_gpu_that_is_shared_is_counted_in_parts) {
  World world({with_gpus(node("a", 8), 2)});
  EXPECT_EQ(wait_of(world, {lasting(40, gpus(1, 500), 4)},
                    {lasting(10, gpus(1, 500), 6), lasting(1, gpus(1, 500))}),
            seconds(50));
}

TEST(forecast, behind_a_head_that_waits_for_nobody_knows_what_nothing_is_known) {
  World world({node("a", 2)});
  world.submit(spec(cpus(1)));
  world.run();
  world.submit(lasting(1, cpus(2)));
  EXPECT_FALSE(world.why(world.submit(lasting(1, cpus(1)))).expected_start_p50);
}

TEST(forecast, a_hundred_thousand_tasks_ahead_take_no_longer_than_one) {
  World world({node("a", 2)});
  std::vector<JobSpec> waiting;
  for (int i = 0; i < 100; ++i) waiting.push_back(lasting(100 + i, cpus(1), 1000));
  waiting.push_back(lasting(1, cpus(1)));
  const auto begin = std::chrono::steady_clock::now();
  const Duration wait = wait_of(world, {lasting(3600, cpus(1), 2)}, waiting);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  // Half of 1000 tasks each on either core: 500 times 100, 101, and so on to 199 seconds.
  EXPECT_EQ(wait, seconds(3600 + 500 * 14950));
}

}  // namespace
}  // namespace tutti
