#include "core/elastic/max_min_shares.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti {
namespace {

double sum_of(const Sharer& sharer, const std::vector<double>& parts) {
  double sum = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) sum += sharer.speed[p] * parts[p];
  return sum;
}

TEST(MaxMinShares, equals_share_one_pool_equally) {
  const std::vector<Sharer> sharers(3, Sharer{{1}, {1}});
  const auto shares = max_min_shares(sharers, {2});
  for (const auto& parts : shares) EXPECT_NEAR(parts[0], 2.0 / 3, 0.02);
}

TEST(MaxMinShares, all_time_is_enough_where_there_is_room) {
  const auto shares = max_min_shares({Sharer{{1}, {1}}, Sharer{{2}, {5}}}, {4});
  EXPECT_NEAR(shares[0][0], 1, 1e-9);
  EXPECT_NEAR(shares[1][0], 1, 1e-9);
}

TEST(MaxMinShares, each_goes_where_it_loses_least) {
  // With x of the first pool for A and the rest of both for the others, A has 4x + (1 − x) and B
  // has 2(1 − x) + x: equal, 1.75, at x = 1/4.
  const std::vector<Sharer> sharers{{{1, 1}, {4, 1}}, {{1, 1}, {2, 1}}};
  const auto shares = max_min_shares(sharers, {1, 1});
  EXPECT_NEAR(sum_of(sharers[0], shares[0]), 1.75, 0.05);
  EXPECT_NEAR(sum_of(sharers[1], shares[1]), 1.75, 0.05);
}

TEST(MaxMinShares, pools_give_no_more_than_they_have_and_nobody_more_than_all_of_his_time) {
  std::vector<Sharer> sharers;
  for (int i = 1; i <= 40; ++i)
    sharers.push_back({{1.0 + i % 4, 2, 1.0 + i % 3}, {1.0 + i % 7, i % 5 == 0 ? 0.0 : 3.0, 2}});
  const std::vector<double> capacity{12, 8, 20};
  const auto shares = max_min_shares(sharers, capacity);
  std::vector<double> use(3);
  for (std::size_t i = 0; i < sharers.size(); ++i) {
    EXPECT_LE(shares[i][0] + shares[i][1] + shares[i][2], 1 + 1e-9);
    for (std::size_t p = 0; p < 3; ++p) use[p] += shares[i][p] * sharers[i].devices[p];
  }
  for (std::size_t p = 0; p < 3; ++p) EXPECT_LE(use[p], 1.021 * capacity[p]);
}

TEST(MaxMinShares, who_runs_nowhere_gets_nothing) {
  const auto shares = max_min_shares({Sharer{{0}, {0}}, Sharer{{1}, {1}}}, {1});
  EXPECT_EQ(shares[0][0], 0);
  EXPECT_NEAR(shares[1][0], 1, 1e-9);
}

}  // namespace
}  // namespace tutti
