#include "exec/local/roster.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

AttemptId attempt(std::uint32_t index) {
  return {{JobId(1), index}, 1};
}

TEST(Roster, as_many_lost_attempts_release_as_their_lane_has_allocations) {
  Roster roster;
  roster.ordered(attempt(0), LaneId(1), false);
  roster.ordered(attempt(1), LaneId(1), true);
  roster.ordered(attempt(2), LaneId(1), true);
  AttemptEnded ended;
  ended.attempt = attempt(0);
  ended.released = false;
  EXPECT_TRUE(roster.ended(ended));
  roster.started({attempt(1), TimePoint(5), 77});
  EXPECT_EQ(roster.sessions(), std::vector<pid_t>{77});
  const std::vector<AttemptEnded> lost = roster.lose_all(TimePoint(9), "why");
  ASSERT_EQ(lost.size(), 2u);
  EXPECT_EQ(lost[0].attempt, attempt(1));
  EXPECT_TRUE(lost[0].released);
  EXPECT_FALSE(lost[1].released);
  EXPECT_EQ(lost[1].outcome.message, "why");
  EXPECT_TRUE(roster.lose_all(TimePoint(9), "why").empty());
}

TEST(Roster, an_end_counts_once) {
  Roster roster;
  roster.ordered(attempt(0), LaneId(1), false);
  AttemptEnded ended;
  ended.attempt = attempt(0);
  EXPECT_TRUE(roster.ended(ended));
  EXPECT_FALSE(roster.ended(ended));
}

TEST(Roster, what_the_keeper_lists_is_not_lost) {
  Roster roster;
  roster.ordered(attempt(0), LaneId(1), false);
  roster.ordered(attempt(1), LaneId(1), false);
  roster.ordered(attempt(2), LaneId(1), true);
  Listing listing;
  listing.running = {{{attempt(0), TimePoint(1), 5}, LaneId(1)}};
  const std::vector<AttemptEnded> lost = roster.lose_unlisted(listing, TimePoint(9), "why");
  ASSERT_EQ(lost.size(), 2u);
  EXPECT_EQ(lost[0].released + lost[1].released, 1);
  EXPECT_TRUE(roster.has(attempt(0)));
}

TEST(SentContexts, a_context_is_sent_once_while_it_is_used) {
  SentContexts sent;
  EXPECT_TRUE(sent.use(JobId(1)));
  EXPECT_FALSE(sent.use(JobId(1)));
  EXPECT_EQ(sent.release(JobId(1)), std::nullopt);
  EXPECT_EQ(sent.release(JobId(1)), std::nullopt);
  EXPECT_FALSE(sent.use(JobId(1)));
}

TEST(SentContexts, of_too_many_idle_ones_the_oldest_is_dropped) {
  SentContexts sent;
  std::optional<JobId> dropped;
  for (std::uint64_t job = 1; job <= SentContexts::kMostIdle + 1; ++job) {
    sent.use(JobId(job));
    dropped = sent.release(JobId(job));
  }
  EXPECT_EQ(dropped, JobId(1));
  EXPECT_TRUE(sent.use(JobId(1)));
  EXPECT_FALSE(sent.use(JobId(2)));
}

}  // namespace
}  // namespace tutti
