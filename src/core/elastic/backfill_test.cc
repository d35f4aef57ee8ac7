#include <gtest/gtest.h>

#include "core/elastic/policies.h"
#include "tests/support/elastic_world.h"

namespace tutti {
namespace {

// Two devices are taken for so long; a job that wants four waits for them.
ElasticWorld world_with_a_promise(double taken_s) {
  ElasticWorld world({{"a100", 1, 4}});
  ElasticJob& running = world.job(2, {option_of(0, 2, 1)});
  running.current = 0;
  running.remaining = taken_s;
  world.job(4, {option_of(0, 4, 1)}).remaining = 1000;
  return world;
}

TEST(Backfill, one_that_ends_before_the_promised_start_passes) {
  ElasticWorld world = world_with_a_promise(100);
  world.job(2, {option_of(0, 2, 1)}).remaining = 60;
  EXPECT_EQ(make_backfill_policy()->decide(world.snapshot), (Choices{0, std::nullopt, 0}));
}

TEST(Backfill, one_that_would_delay_the_promised_start_waits) {
  ElasticWorld world = world_with_a_promise(100);
  world.job(2, {option_of(0, 2, 1)}).remaining = 110;
  world.job(1, {option_of(0, 1, 1)}).remaining.reset();
  EXPECT_EQ(make_backfill_policy()->decide(world.snapshot),
            (Choices{0, std::nullopt, std::nullopt, std::nullopt}));
}

TEST(Backfill, what_the_promised_start_leaves_free_may_be_had_for_longer) {
  ElasticWorld world({{"a100", 1, 4}});
  ElasticJob& running = world.job(2, {option_of(0, 2, 1)});
  running.current = 0;
  running.remaining = 100;
  world.job(3, {option_of(0, 3, 1)}).remaining = 1000;
  world.job(1, {option_of(0, 1, 1)}).remaining = 5000;
  world.job(1, {option_of(0, 1, 1)}).remaining = 5000;
  EXPECT_EQ(make_backfill_policy()->decide(world.snapshot),
            (Choices{0, std::nullopt, 0, std::nullopt}));
}

TEST(Backfill, nobody_passes_when_it_is_not_known_when_others_end) {
  ElasticWorld world = world_with_a_promise(100);
  world.snapshot.jobs[0].remaining.reset();
  world.job(1, {option_of(0, 1, 1)}).remaining.reset();
  EXPECT_EQ(make_backfill_policy()->decide(world.snapshot),
            (Choices{0, std::nullopt, std::nullopt}));
}

}  // namespace
}  // namespace tutti
