#include "exec/keeper/lanes.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

constexpr LaneId kLane{1};

AttemptId attempt(std::uint32_t index) {
  return {{JobId(1), index}, 1};
}

TEST(Lanes, an_attempt_that_brings_its_allocation_runs_at_once) {
  Lanes lanes;
  EXPECT_TRUE(lanes.add(kLane, attempt(0), false));
  EXPECT_EQ(lanes.take_next(kLane), attempt(0));
  EXPECT_EQ(lanes.take_next(kLane), std::nullopt);
}

TEST(Lanes, a_staged_attempt_waits_for_the_end_of_another) {
  Lanes lanes;
  lanes.add(kLane, attempt(0), false);
  lanes.take_next(kLane);
  EXPECT_TRUE(lanes.add(kLane, attempt(1), true));
  EXPECT_EQ(lanes.take_next(kLane), std::nullopt);
  EXPECT_FALSE(lanes.end_one(kLane));
  EXPECT_EQ(lanes.take_next(kLane), attempt(1));
  EXPECT_TRUE(lanes.end_one(kLane));
}

TEST(Lanes, a_new_allocation_goes_to_the_longest_waiting) {
  Lanes lanes;
  lanes.add(kLane, attempt(0), false);
  lanes.take_next(kLane);
  lanes.add(kLane, attempt(1), true);
  lanes.add(kLane, attempt(2), false);
  EXPECT_EQ(lanes.take_next(kLane), attempt(1));
  EXPECT_EQ(lanes.take_next(kLane), std::nullopt);
}

TEST(Lanes, nothing_is_staged_in_a_lane_without_allocations) {
  Lanes lanes;
  EXPECT_FALSE(lanes.add(kLane, attempt(0), true));
  lanes.add(kLane, attempt(1), false);
  lanes.take_next(kLane);
  lanes.end_one(kLane);
  EXPECT_FALSE(lanes.add(kLane, attempt(2), true));
  EXPECT_EQ(lanes.waiting(), 0u);
}

TEST(Lanes, what_is_removed_does_not_run) {
  Lanes lanes;
  lanes.add(kLane, attempt(0), false);
  lanes.take_next(kLane);
  lanes.add(kLane, attempt(1), true);
  EXPECT_TRUE(lanes.remove(kLane, attempt(1)));
  EXPECT_FALSE(lanes.remove(kLane, attempt(1)));
  EXPECT_FALSE(lanes.remove(kLane, attempt(0)));
  EXPECT_TRUE(lanes.end_one(kLane));
}

TEST(Lanes, reports_may_wait_only_while_every_busy_lane_has_a_backlog) {
  Lanes lanes;
  EXPECT_FALSE(lanes.all_have_backlog());
  lanes.add(kLane, attempt(0), false);
  lanes.take_next(kLane);
  EXPECT_FALSE(lanes.all_have_backlog());
  lanes.add(kLane, attempt(1), true);
  EXPECT_TRUE(lanes.all_have_backlog());
  lanes.add(LaneId(2), attempt(2), false);
  lanes.take_next(LaneId(2));
  EXPECT_FALSE(lanes.all_have_backlog());
  lanes.end_one(LaneId(2));
  EXPECT_TRUE(lanes.all_have_backlog());
  lanes.remove(kLane, attempt(1));
  EXPECT_FALSE(lanes.all_have_backlog());
}

// As many run as there are allocations, whatever happens in which order.
TEST(Lanes, allocations_given_back_are_those_that_were_brought) {
  for (unsigned seed = 1; seed <= 500; ++seed) {
    Lanes lanes;
    unsigned state = seed;
    const auto dice = [&](unsigned n) { return (state = state * 1103515245 + 12345) / 65536 % n; };
    int brought = 0;
    int returned = 0;
    int running = 0;
    for (std::uint32_t step = 0; step < 200; ++step) {
      const bool add = dice(2) == 0;
      if (add) {
        const bool staged = dice(3) != 0;
        if (lanes.add(kLane, attempt(step), staged) && !staged) ++brought;
      } else if (running > 0) {
        --running;
        if (lanes.end_one(kLane)) ++returned;
      }
      while (lanes.take_next(kLane)) ++running;
      ASSERT_EQ(running, brought - returned) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace tutti
