#include "core/elastic/max_min_shares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tutti {
namespace {

constexpr int kPriceSteps = 120;
constexpr int kSpeedSteps = 12;
constexpr double kOveruse = 1.02;

using Division = std::vector<std::vector<double>>;

double fastest(const Sharer& sharer) {
  return *std::max_element(sharer.speed.begin(), sharer.speed.end());
}

// Adds the cheapest way to reach `speed` (or the sharer's fastest, if that is less) to `parts`: one
// pool for a part of the time, or two that fill it.
void add_cheapest(const Sharer& sharer, double speed, const std::vector<double>& price,
                  std::vector<double>& parts) {
  const std::size_t pools = price.size();
  speed = std::min(speed, fastest(sharer));
  double least = std::numeric_limits<double>::infinity();
  std::size_t first = 0;
  std::size_t second = 0;
  double part = 0;
  const auto cost = [&](std::size_t p) { return price[p] * sharer.devices[p]; };
  for (std::size_t a = 0; a < pools; ++a) {
    if (sharer.speed[a] <= 0 || sharer.speed[a] < speed) continue;
    // Alone, idle for the rest of the time.
    const double alone = speed / sharer.speed[a];
    if (cost(a) * alone < least) {
      least = cost(a) * alone;
      first = second = a;
      part = alone;
    }
    for (std::size_t b = 0; b < pools; ++b) {
      if (sharer.speed[b] <= 0 || sharer.speed[b] >= speed) continue;
      const double in_a = (speed - sharer.speed[b]) / (sharer.speed[a] - sharer.speed[b]);
      const double both = cost(a) * in_a + cost(b) * (1 - in_a);
      if (both >= least) continue;
      least = both;
      first = a;
      second = b;
      part = in_a;
    }
  }
  parts[first] += part;
  if (second != first) parts[second] += 1 - part;
}

std::vector<double> use_of(const std::vector<Sharer>& sharers, const Division& division,
                           std::size_t pools) {
  std::vector<double> use(pools);
  for (std::size_t i = 0; i < sharers.size(); ++i)
    for (std::size_t p = 0; p < pools; ++p) use[p] += division[i][p] * sharers[i].devices[p];
  return use;
}

// The division that gives everybody `speed`, if prices are found at which the pools suffice.
std::optional<Division> divide(const std::vector<Sharer>& sharers, double speed,
                               const std::vector<double>& capacity, std::vector<double>& price) {
  const std::size_t pools = capacity.size();
  Division sum(sharers.size(), std::vector<double>(pools));
  Division step = sum;
  for (int k = 1; k <= kPriceSteps; ++k) {
    for (std::size_t i = 0; i < sharers.size(); ++i) {
      std::fill(step[i].begin(), step[i].end(), 0);
      add_cheapest(sharers[i], speed, price, step[i]);
      for (std::size_t p = 0; p < pools; ++p) sum[i][p] += step[i][p];
    }
    const auto use = use_of(sharers, step, pools);
    const auto total = use_of(sharers, sum, pools);
    bool fits = true;
    for (std::size_t p = 0; p < pools; ++p) {
      fits = fits && total[p] <= kOveruse * k * capacity[p];
      const double over = std::clamp(use[p] / capacity[p] - 1, -1.0, 3.0);
      price[p] *= std::exp(0.5 * over / std::sqrt(static_cast<double>(k)));
      price[p] = std::clamp(price[p], 1e-9, 1e9);
    }
    if (!fits) continue;
    for (auto& parts : sum)
      for (double& part : parts) part /= k;
    return sum;
  }
  return std::nullopt;
}

}  // namespace

Division max_min_shares(const std::vector<Sharer>& sharers, const std::vector<double>& capacity) {
  const std::size_t pools = capacity.size();
  Division best(sharers.size(), std::vector<double>(pools));
  double most = 0;
  for (const Sharer& sharer : sharers) most = std::max(most, fastest(sharer));
  std::vector<double> price(pools, 1);
  double least = 0;
  for (int k = 0; k < kSpeedSteps && most > 0; ++k) {
    const double speed = k == 0 ? most : (least + most) / 2;
    std::vector<double> try_price = price;
    auto division = divide(sharers, speed, capacity, try_price);
    if (division) {
      best = std::move(*division);
      price = std::move(try_price);
      least = speed;
      if (k == 0) break;
    } else {
      most = speed;
    }
  }
  return best;
}

}  // namespace tutti
