#include "core/elastic/bounded_minimum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tutti {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// (1 − x)² + 100 (y − x²)²: a bent valley with its minimum at (1, 1).
double rosenbrock(const std::vector<double>& at, std::vector<double>& gradient) {
  const double x = at[0];
  const double y = at[1];
  gradient = {-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)};
  return (1 - x) * (1 - x) + 100 * (y - x * x) * (y - x * x);
}

TEST(BoundedMinimum, follows_a_bent_valley_to_its_end) {
  const auto at = bounded_minimum(rosenbrock, {.start = {-1.2, 1},
                                               .least = {-kInfinity, -kInfinity},
                                               .most = {kInfinity, kInfinity},
                                               .tolerance = 1e-12});
  EXPECT_NEAR(at[0], 1, 1e-4);
  EXPECT_NEAR(at[1], 1, 1e-4);
}

// With x ≤ 0.5 the best is at the bound, where y = x².
TEST(BoundedMinimum, stops_at_a_bound) {
  const auto at = bounded_minimum(
      rosenbrock, {.start = {-1.2, 1}, .least = {-2, -2}, .most = {0.5, 2}, .tolerance = 1e-12});
  EXPECT_DOUBLE_EQ(at[0], 0.5);
  EXPECT_NEAR(at[1], 0.25, 1e-5);
}

TEST(BoundedMinimum, leaves_pinned_variables_alone) {
  const auto at = bounded_minimum(
      rosenbrock,
      {.start = {3, 1}, .least = {2, -kInfinity}, .most = {2, kInfinity}, .tolerance = 1e-12});
  EXPECT_DOUBLE_EQ(at[0], 2);
  EXPECT_NEAR(at[1], 4, 1e-5);
}

TEST(BoundedMinimum, starts_within_the_bounds) {
  const auto square = [](const std::vector<double>& at, std::vector<double>& gradient) {
    EXPECT_GE(at[0], 1);
    gradient = {2 * at[0]};
    return at[0] * at[0];
  };
  const auto at = bounded_minimum(square, {.start = {-5}, .least = {1}, .most = {kInfinity}});
  EXPECT_DOUBLE_EQ(at[0], 1);
}

}  // namespace
}  // namespace tutti
