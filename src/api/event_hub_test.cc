#include "api/event_hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using Haste = EventHub::Haste;
using testing::ElementsAre;

Round round_of(std::vector<JobRow> rows) {
  Round round;
  round.jobs = std::move(rows);
  return round;
}

JobRow row(std::uint64_t id, bool started = false, bool finished = false) {
  JobRow made;
  made.id = JobId(id);
  if (started) made.started_at = TimePoint(1);
  if (finished) made.finished_at = TimePoint(2);
  return made;
}

class EventHubTest : public testing::Test {
 protected:
  EventHubTest() {
    hub.set_notify([this](Haste haste) { asked.push_back(haste); });
  }
  EventHub hub;
  std::vector<Haste> asked;
};

TEST_F(EventHubTest, without_followers_nobody_is_woken) {
  hub.published(round_of({row(1, true, true)}));
  EXPECT_TRUE(asked.empty());
}

TEST_F(EventHubTest, jobs_that_nobody_follows_wake_nobody) {
  const auto watch = hub.watch(JobId(2));
  hub.published(round_of({row(1, true, true)}));
  EXPECT_TRUE(asked.empty());
}

TEST_F(EventHubTest, a_followed_jobs_start_and_end_come_at_once) {
  const auto watch = hub.watch(JobId(1));
  hub.published(round_of({row(1, true)}));
  EXPECT_THAT(asked, ElementsAre(Haste::kNow));
  hub.deliver(Haste::kNow);
  EXPECT_TRUE(watch->changed);
  hub.published(round_of({row(1, true, true)}));
  EXPECT_THAT(asked, ElementsAre(Haste::kNow, Haste::kNow));
}

TEST_F(EventHubTest, progress_in_between_asks_once_until_delivered) {
  const auto watch = hub.watch(JobId(1));
  hub.published(round_of({row(1, true)}));
  hub.deliver(Haste::kNow);
  asked.clear();
  for (int i = 0; i < 1000; ++i) hub.published(round_of({row(1, true)}));
  EXPECT_THAT(asked, ElementsAre(Haste::kNextPause));
  hub.deliver(Haste::kNextPause);
  hub.published(round_of({row(1, true)}));
  EXPECT_THAT(asked, ElementsAre(Haste::kNextPause, Haste::kNextPause));
}

TEST_F(EventHubTest, a_delivery_wakes_the_follower_with_the_newest_row) {
  const auto watch = hub.watch(JobId(1));
  int woken = 0;
  watch->wake = [&] { ++woken; };
  hub.published(round_of({row(1), row(7)}));
  hub.published(round_of({row(1, true, true)}));
  hub.deliver(Haste::kNow);
  EXPECT_EQ(woken, 1);
  EXPECT_TRUE(watch->row.finished_at);
}

TEST_F(EventHubTest, after_the_last_follower_left_it_costs_nothing_again) {
  hub.watch(JobId(1)).reset();
  hub.watch_all().reset();
  hub.published(round_of({row(1, true, true)}));
  EXPECT_TRUE(asked.empty());
}

TEST_F(EventHubTest, two_followers_of_one_job_are_both_told) {
  const auto one = hub.watch(JobId(1));
  auto two = hub.watch(JobId(1));
  two.reset();
  const auto three = hub.watch(JobId(1));
  hub.published(round_of({row(1, true)}));
  hub.deliver(Haste::kNow);
  EXPECT_TRUE(one->changed);
  EXPECT_TRUE(three->changed);
}

TEST_F(EventHubTest, who_follows_all_waits_for_the_pause) {
  const auto all = hub.watch_all();
  hub.published(round_of({row(1, true, true), row(2)}));
  EXPECT_THAT(asked, ElementsAre(Haste::kNextPause));
  hub.deliver(Haste::kNow);
  EXPECT_TRUE(all->jobs.empty());
  hub.deliver(Haste::kNextPause);
  EXPECT_EQ(all->jobs.size(), 2u);
}

TEST_F(EventHubTest, a_slow_follower_of_all_has_changes_merged) {
  const auto all = hub.watch_all();
  for (int i = 0; i < 5; ++i) {
    hub.published(round_of({row(1)}));
    hub.deliver(Haste::kNextPause);
  }
  EXPECT_EQ(all->jobs.size(), 1u);
  EXPECT_EQ(all->merged, 4u);
}

TEST_F(EventHubTest, a_stuck_follower_of_all_costs_a_bounded_amount) {
  const auto all = hub.watch_all();
  for (std::uint64_t id = 1; id <= 3 * AllWatch::kMostJobs; ++id) {
    hub.published(round_of({row(id)}));
    if (id % 1000 == 0) hub.deliver(Haste::kNextPause);
  }
  EXPECT_EQ(all->jobs.size(), AllWatch::kMostJobs);
  EXPECT_EQ(all->dropped, 2 * AllWatch::kMostJobs);
}

TEST_F(EventHubTest, an_api_thread_that_does_not_collect_costs_a_bounded_amount) {
  const auto all = hub.watch_all();
  for (std::uint64_t id = 1; id <= 2 * AllWatch::kMostJobs; ++id)
    hub.published(round_of({row(id)}));
  hub.deliver(Haste::kNextPause);
  EXPECT_EQ(all->jobs.size(), AllWatch::kMostJobs);
  EXPECT_EQ(all->dropped, AllWatch::kMostJobs);
}

TEST_F(EventHubTest, nodes_are_learnt_and_announced) {
  Round round;
  NodeChanged changed;
  changed.node.id = NodeId(3);
  changed.node.name = "n3";
  round.events.push_back({TimePoint(1), changed});
  hub.published(round);
  EXPECT_EQ(hub.nodes().name(NodeId(3)), "n3");
  EXPECT_TRUE(asked.empty());
  const auto all = hub.watch_all();
  hub.published(round);
  EXPECT_THAT(asked, ElementsAre(Haste::kNextPause));
  EXPECT_THAT(hub.take_changed_nodes(), ElementsAre(NodeId(3)));
}

}  // namespace
}  // namespace tutti
