#include <gtest/gtest.h>

#include "core/elastic/policies.h"
#include "tests/support/elastic_world.h"

namespace tutti {
namespace {

Choices cells_of(const ElasticWorld& world) {
  return make_cells_policy()->decide(world.snapshot);
}

// 1, 2, 4 and 8 devices of a pool, with these rates.
std::vector<ShapeOption> doublings(std::vector<double> rates, std::uint32_t pool = 0) {
  std::vector<ShapeOption> options;
  std::uint32_t devices = 1;
  for (const double rate : rates) {
    options.push_back(option_of(pool, devices, rate));
    devices *= 2;
  }
  return options;
}

TEST(Cells, a_waiting_job_takes_the_fastest_cell_that_is_free) {
  ElasticWorld world({{"a100", 1, 4}});
  world.job(2, doublings({1, 2, 4, 8}));
  EXPECT_EQ(cells_of(world)[0], 2u);
}

TEST(Cells, a_running_job_shrinks_for_one_that_gains_more) {
  // Four devices are 4/5 of the first job's best; with two it still has 3/5, and the second one has
  // 4/5: 7/5 in all. With one device each they had less.
  ElasticWorld world({{"a100", 1, 4}});
  world.job(4, doublings({1, 3, 4, 5})).current = 2;
  world.job(4, doublings({1, 4, 4.5, 5}));
  EXPECT_EQ(cells_of(world), (Choices{1, 1}));
}

TEST(Cells, nobody_shrinks_if_nothing_is_gained) {
  ElasticWorld world({{"a100", 1, 8}});
  world.job(8, doublings({0.5, 1, 2, 8})).current = 3;
  world.job(8, doublings({0.5, 1, 2, 8}));
  EXPECT_EQ(cells_of(world), (Choices{3, std::nullopt}));
}

TEST(Cells, no_job_gets_less_than_a_quarter_of_what_was_asked_for) {
  ElasticWorld world({{"a100", 1, 1}});
  world.job(8, doublings({1, 2, 4, 8}));
  EXPECT_FALSE(cells_of(world)[0]);
  world.snapshot.jobs[0].wanted = 4;
  EXPECT_EQ(cells_of(world)[0], 0u);
}

TEST(Cells, a_running_job_changes_its_pool_to_make_room) {
  // The first is as fast in the other pool, which is of no use to the second.
  ElasticWorld world({{"a100", 1, 2}, {"v100", 1, 2}});
  world.job(2, {option_of(0, 2, 1), option_of(1, 2, 1)}).current = 0;
  world.job(2, {option_of(0, 2, 1)});
  EXPECT_EQ(cells_of(world), (Choices{1, 0}));
}

TEST(Cells, idle_devices_go_to_the_running_job_that_gains_most) {
  ElasticWorld world({{"a100", 1, 4}});
  world.job(1, doublings({1, 1.2})).current = 0;
  world.job(1, doublings({1, 2})).current = 0;
  world.job(1, doublings({1})).current = 0;
  EXPECT_EQ(cells_of(world), (Choices{0, 1, 0}));
}

TEST(Cells, one_that_is_being_started_is_not_disturbed) {
  ElasticWorld world({{"a100", 1, 4}});
  ElasticJob& first = world.job(4, doublings({1, 3, 4, 5}));
  first.current = 2;
  first.starting = true;
  world.job(4, doublings({1, 4, 4.5, 5}));
  EXPECT_EQ(cells_of(world), (Choices{2, std::nullopt}));
}

}  // namespace
}  // namespace tutti
