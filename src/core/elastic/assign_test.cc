#include "core/elastic/assign.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace tutti {
namespace {

using Random = std::mt19937;

double worth(const std::vector<Bidder>& bidders, const Choices& choices) {
  double sum = 0;
  for (std::size_t j = 0; j < bidders.size(); ++j)
    sum += choices[j] ? bidders[j].offers.at(*choices[j]).value : bidders[j].nothing;
  return sum;
}

bool fits(const std::vector<std::uint32_t>& capacities, const std::vector<Bidder>& bidders,
          const Choices& choices) {
  std::vector<std::uint32_t> use(capacities.size());
  for (std::size_t j = 0; j < bidders.size(); ++j)
    if (choices[j])
      use[bidders[j].offers[*choices[j]].pool] += bidders[j].offers[*choices[j]].devices;
  for (std::size_t p = 0; p < use.size(); ++p)
    if (use[p] > capacities[p]) return false;
  return true;
}

// Speeds that grow less and less with devices; some have something already.
std::vector<Bidder> random_bidders(Random& random, const std::vector<std::uint32_t>& capacities,
                                   std::size_t count) {
  std::uniform_real_distribution<double> part(0, 1);
  std::vector<std::uint32_t> left = capacities;
  std::vector<Bidder> bidders(count);
  for (Bidder& bidder : bidders) {
    const double weight = 1 + 9 * part(random);
    for (std::uint32_t p = 0; p < capacities.size(); ++p) {
      const double power = 0.4 + 0.6 * part(random);
      const double speed = 0.2 + part(random);
      for (std::uint32_t devices = 1; devices <= 8; devices *= 2)
        bidder.offers.push_back({p, devices, weight * speed * std::pow(devices, power)});
    }
    const auto has =
        static_cast<std::size_t>(part(random) * 2 * static_cast<double>(bidder.offers.size()));
    if (has >= bidder.offers.size() || bidder.offers[has].devices > left[bidder.offers[has].pool])
      continue;
    left[bidder.offers[has].pool] -= bidder.offers[has].devices;
    bidder.current = has;
    bidder.nothing = -0.1 * bidder.offers[has].value;
    bidder.pinned = part(random) < 0.2;
  }
  return bidders;
}

// The most that any plan is worth, by trying all of them.
double best_of_all(std::vector<std::uint32_t> left, const std::vector<Bidder>& bidders) {
  const std::function<double(std::size_t)> best = [&](std::size_t j) -> double {
    if (j == bidders.size()) return 0;
    const Bidder& bidder = bidders[j];
    double most = bidder.pinned ? -1e300 : bidder.nothing + best(j + 1);
    for (std::size_t o = 0; o < bidder.offers.size(); ++o) {
      const Offer& offer = bidder.offers[o];
      if (offer.devices > left[offer.pool] || (bidder.pinned && bidder.current != o)) continue;
      left[offer.pool] -= offer.devices;
      most = std::max(most, offer.value + best(j + 1));
      left[offer.pool] += offer.devices;
    }
    return most;
  };
  return best(0);
}

TEST(Assign, finds_the_best_of_all_plans_while_pools_are_small) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const std::vector<std::uint32_t> capacities{7, 5};
    const auto bidders = random_bidders(random, capacities, 4);
    const Choices choices = assign(capacities, bidders);
    EXPECT_TRUE(fits(capacities, bidders, choices));
    EXPECT_NEAR(worth(bidders, choices), best_of_all(capacities, bidders), 1e-9) << seed;
  }
}

TEST(Assign, by_prices_is_hardly_worse_than_exact) {
  double exact = 0;
  double by_prices = 0;
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    const std::vector<std::uint32_t> capacities{24, 16, 24};
    const auto bidders = random_bidders(random, capacities, 25);
    const Choices choices = assign_by_prices(capacities, bidders);
    EXPECT_TRUE(fits(capacities, bidders, choices));
    for (std::size_t j = 0; j < bidders.size(); ++j)
      EXPECT_TRUE(!bidders[j].pinned || choices[j] == bidders[j].current);
    by_prices += worth(bidders, choices);
    exact += worth(bidders, assign(capacities, bidders));
  }
  EXPECT_GT(by_prices, 0.995 * exact);
}

TEST(Assign, prices_stop_at_once_where_everybody_has_his_best) {
  const std::vector<Bidder> bidders(3, Bidder{{{0, 1, 1.0}, {0, 2, 1.5}}});
  EXPECT_EQ(assign_by_prices(std::vector<std::uint32_t>{100'000}, bidders), (Choices{1, 1, 1}));
}

TEST(Assign, who_keeps_what_it_has_is_preferred_among_equals) {
  std::vector<Bidder> bidders(2, Bidder{{{0, 1, 1.0}}});
  bidders[1].current = 0;
  EXPECT_EQ(assign_by_prices(std::vector<std::uint32_t>{1}, bidders), (Choices{std::nullopt, 0}));
}

}  // namespace
}  // namespace tutti
