#include <gtest/gtest.h>

#include "core/elastic/policies.h"
#include "tests/support/elastic_world.h"

namespace tutti {
namespace {

// One device; a job runs with 1000 s left, another waits.
struct SrtfWorld : ElasticWorld {
  explicit SrtfWorld(double waiting_left) : ElasticWorld({{"a100", 1, 1}}) {
    job(1, {option_of(0, 1, 1)}).current = 0;
    job(1, {option_of(0, 1, 1)}).remaining = waiting_left;
  }
  bool changes() { return !make_srtf_policy()->decide(snapshot)[0]; }
};

TEST(Srtf, takes_a_longer_job_off_for_a_shorter_one) {
  EXPECT_TRUE(SrtfWorld(900).changes());
}

TEST(Srtf, counts_the_start_as_time_that_is_left) {
  // 995 s and a start of 10 s are more than 1000 s.
  EXPECT_FALSE(SrtfWorld(995).changes());
}

TEST(Srtf, leaves_one_that_is_being_started_alone) {
  SrtfWorld world(10);
  world.snapshot.jobs[0].starting = true;
  EXPECT_FALSE(world.changes());
}

TEST(Srtf, expects_one_of_unknown_length_to_take_as_long_as_it_has) {
  SrtfWorld world(500);
  world.snapshot.jobs[0].remaining.reset();
  world.snapshot.jobs[0].executed_s = 400;
  EXPECT_FALSE(world.changes());
  world.snapshot.jobs[0].executed_s = 600;
  EXPECT_TRUE(world.changes());
}

TEST(Srtf, smaller_ones_pass_one_that_does_not_fit) {
  ElasticWorld world({{"a100", 1, 2}});
  world.job(2, {option_of(0, 2, 1)}).remaining = 20;
  world.job(1, {option_of(0, 1, 1)}).remaining = 10;
  world.job(1, {option_of(0, 1, 1)}).remaining = 30;
  const auto choices = make_srtf_policy()->decide(world.snapshot);
  EXPECT_FALSE(choices[0]);
  EXPECT_TRUE(choices[1]);
  EXPECT_TRUE(choices[2]);
}

TEST(Srtf, takes_the_second_fastest_pool_if_the_fastest_is_full) {
  ElasticWorld world({{"a100", 1, 1}, {"v100", 1, 1}});
  for (int i = 0; i < 2; ++i) world.job(1, {option_of(0, 1, 2), option_of(1, 1, 1)});
  const auto choices = make_srtf_policy()->decide(world.snapshot);
  EXPECT_EQ(choices[0], 0u);
  EXPECT_EQ(choices[1], 1u);
}

}  // namespace
}  // namespace tutti
