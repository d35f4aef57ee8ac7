#include "core/policy/list_schedule.h"

#include <gtest/gtest.h>

#include <array>

namespace tutti {
namespace {

constexpr TimePoint kBegin{1'000'000'000};
constexpr std::array<std::uint64_t, 2> kAny = {1000, 1000};

TimePoint after(std::int64_t n) {
  return kBegin + seconds(n);
}

MilliCpu cores(std::int64_t n) {
  return MilliCpu(n * 1000);
}

EqualTasks tasks(std::int64_t size, std::int64_t runs, std::uint64_t count = 1) {
  return {cores(size), count, seconds(runs), seconds(runs), kAny};
}

// One node with a core that is free and one that becomes so after 20 seconds.
ListSchedule half_busy() {
  ListSchedule schedule(1);
  schedule.add(0, cores(1), kBegin);
  schedule.add(0, cores(1), after(20));
  return schedule;
}

TEST(list_schedule, a_task_starts_where_it_can_do_so_first) {
  ListSchedule schedule(2);
  schedule.add(0, cores(1), after(9));
  schedule.add(1, cores(1), after(2));
  EXPECT_EQ(schedule.place(tasks(1, 1)), after(2));
  EXPECT_EQ(schedule.place(tasks(1, 1)), after(3));
}

TEST(list_schedule, who_would_delay_a_wider_one_waits_behind_it) {
  ListSchedule schedule = half_busy();
  EXPECT_EQ(schedule.place(tasks(2, 1)), after(20));
  EXPECT_EQ(schedule.place(tasks(1, 100)), after(21));
}

TEST(list_schedule, who_ends_before_a_wider_one_starts_passes_it) {
  ListSchedule schedule = half_busy();
  schedule.place(tasks(2, 1));
  EXPECT_EQ(schedule.place(tasks(1, 8, 2)), after(8));
  EXPECT_EQ(schedule.place(tasks(1, 8)), after(21));
  EXPECT_EQ(schedule.place(tasks(1, 4)), after(16));
}

TEST(list_schedule, who_may_run_for_ever_passes_nobody) {
  ListSchedule schedule = half_busy();
  schedule.place(tasks(2, 1));
  EqualTasks unbound = tasks(1, 1);
  unbound.bound = Duration();
  EXPECT_EQ(schedule.place(unbound), after(21));
}

TEST(list_schedule, what_a_wider_one_leaves_is_for_anybody) {
  ListSchedule schedule = half_busy();
  schedule.add(0, cores(1), after(20));
  EXPECT_EQ(schedule.place(tasks(2, 1)), after(20));
  EXPECT_EQ(schedule.place(tasks(1, 100)), kBegin);
}

TEST(list_schedule, equal_tasks_are_spread_as_one_by_one) {
  ListSchedule together = half_busy();
  ListSchedule single = half_busy();
  TimePoint last;
  for (int i = 0; i < 25; ++i) last = single.place(tasks(1, 3));
  EXPECT_EQ(together.place(tasks(1, 3, 25)), last);
  EXPECT_EQ(together.place(tasks(1, 3)), single.place(tasks(1, 3)));
  EXPECT_EQ(together.place(tasks(2, 3)), single.place(tasks(2, 3)));
}

TEST(list_schedule, what_runs_nowhere_changes_nothing) {
  ListSchedule schedule = half_busy();
  EXPECT_FALSE(schedule.place(tasks(3, 1)));
  EqualTasks nowhere = tasks(1, 1);
  constexpr std::array<std::uint64_t, 1> kNone = {0};
  nowhere.most = kNone;
  EXPECT_FALSE(schedule.place(nowhere));
  EXPECT_EQ(schedule.place(tasks(1, 1)), kBegin);
}

TEST(list_schedule, what_may_not_start_yet_leaves_the_time_before_to_others) {
  ListSchedule schedule = half_busy();
  EqualTasks later = tasks(1, 5);
  later.from = after(10);
  EXPECT_EQ(schedule.place(later), after(10));
  EXPECT_EQ(schedule.place(tasks(1, 11)), after(15));
  EXPECT_EQ(schedule.place(tasks(1, 9)), kBegin);
}

TEST(list_schedule, only_so_much_is_left_to_others) {
  ListSchedule schedule = half_busy();
  schedule.leave(0, cores(1));
  EXPECT_EQ(schedule.place(tasks(1, 30)), kBegin);
  EXPECT_EQ(schedule.place(tasks(1, 30)), after(30));
}

TEST(list_schedule, a_node_may_take_fewer_at_once_than_fit) {
  ListSchedule schedule(1);
  schedule.add(0, cores(8), kBegin);
  EqualTasks few = tasks(1, 10, 6);
  constexpr std::array<std::uint64_t, 1> kTwo = {2};
  few.most = kTwo;
  EXPECT_EQ(schedule.place(few), after(20));
  EXPECT_EQ(schedule.place(tasks(6, 10)), kBegin);
}

}  // namespace
}  // namespace tutti
