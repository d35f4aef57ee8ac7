#include "core/elastic/tutti.h"

#include <gtest/gtest.h>

#include "tests/support/elastic_world.h"

namespace tutti {
namespace {

// Five jobs of one device each, the longest first, and room for four.
ElasticWorld five_for_four(double now_s) {
  ElasticWorld world({{"a100", 1, 4}});
  world.snapshot.now_s = now_s;
  for (const double remaining : {5000, 4000, 300, 200, 100}) {
    ElasticJob& job = world.job(1, {option_of(0, 1, 1)});
    job.remaining = remaining;
    job.submitted_s = now_s;
  }
  return world;
}

const Choices kFirstWaits = {std::nullopt, 0, 0, 0, 0};
const Choices kSecondWaits = {0, std::nullopt, 0, 0, 0};

TEST(TuttiPolicy, the_longest_job_waits) {
  EXPECT_EQ(make_tutti_policy({})->decide(five_for_four(0).snapshot), kFirstWaits);
}

TEST(TuttiPolicy, one_that_has_waited_for_long_passes_a_shorter_one) {
  ElasticWorld world = five_for_four(4000);
  world.snapshot.jobs[0].submitted_s = 0;
  EXPECT_EQ(make_tutti_policy({})->decide(world.snapshot), kSecondWaits);
}

TEST(TuttiPolicy, one_that_had_less_than_its_share_passes_a_shorter_one) {
  ElasticWorld alone({{"a100", 1, 4}});
  alone.job(1, {option_of(0, 1, 1)}).remaining = 5000;
  ElasticWorld later = five_for_four(4000);
  ElasticJob& slow = later.snapshot.jobs[0];
  slow.submitted_s = 0;
  slow.executed_s = 4000;
  slow.remaining = 4900;
  const auto policy = make_tutti_policy({});
  policy->decide(alone.snapshot);
  EXPECT_EQ(policy->decide(later.snapshot), kSecondWaits);
  // To who did not see it come, it is the longest.
  EXPECT_EQ(make_tutti_policy({})->decide(later.snapshot), kFirstWaits);
}

TEST(TuttiPolicy, one_that_decides_when_all_is_over_passes_a_shorter_one) {
  ElasticWorld world = five_for_four(0);
  world.snapshot.jobs[0].remaining = 500'000;
  EXPECT_EQ(make_tutti_policy({})->decide(world.snapshot), kSecondWaits);
  // Beside others like it, it does not.
  world.snapshot.jobs[1].remaining = 400'000;
  world.snapshot.jobs[2].remaining = 400'000;
  EXPECT_EQ(make_tutti_policy({})->decide(world.snapshot), kFirstWaits);
}

TEST(TuttiPolicy, jobs_with_about_as_much_left_get_about_as_much) {
  ElasticWorld world({{"a100", 1, 4}});
  for (const double remaining : {5000, 4900})
    world.job(1, {option_of(0, 1, 1), option_of(0, 2, 1.5), option_of(0, 3, 1.9)}).remaining =
        remaining;
  EXPECT_EQ(make_tutti_policy({})->decide(world.snapshot), (Choices{1, 1}));
  // One with far less left gets more.
  world.snapshot.jobs[1].remaining = 900;
  EXPECT_EQ(make_tutti_policy({})->decide(world.snapshot), (Choices{0, 2}));
}

TEST(TuttiPolicy, a_running_job_changes_its_shape_only_for_what_pays_for_the_restart) {
  ElasticWorld world({{"a100", 1, 4}});
  ElasticJob& job = world.job(4, {option_of(0, 1, 1), option_of(0, 4, 1.01)});
  job.current = 0;
  job.restart_s = 300;
  EXPECT_EQ(make_tutti_policy({})->decide(world.snapshot), (Choices{0}));
  job.options[1].rate = 3;
  EXPECT_EQ(make_tutti_policy({})->decide(world.snapshot), (Choices{1}));
}

}  // namespace
}  // namespace tutti
