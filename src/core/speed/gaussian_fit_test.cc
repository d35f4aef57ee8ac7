#include "core/speed/gaussian_fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tutti {
namespace {

// Two points with variance 1, covariance 1/2 and noise 1: K = [[2, .5], [.5, 2]], whose inverse is
// [[2, -.5], [-.5, 2]] / 3.75. With values 3 and 0 the weights are 1.6 and -0.4.
GaussianFit two_points() {
  return GaussianFit({2, 0.5, 0.5, 2}, std::vector<double>{3, 0});
}

TEST(GaussianFit, far_from_all_points_it_knows_the_prior_alone) {
  const Guess guess = two_points().at(std::vector<double>{0, 0}, 1);
  EXPECT_DOUBLE_EQ(guess.mean, 0);
  EXPECT_DOUBLE_EQ(guess.deviation, 1);
}

TEST(GaussianFit, near_a_point_it_goes_by_that_point) {
  // Mean 1 * 1.6 - 0.5 * 0.4; variance 1 - k' K^-1 k = 1 - (2 - 2 * .25 + .5) / 3.75.
  const Guess guess = two_points().at(std::vector<double>{1, 0.5}, 1);
  EXPECT_NEAR(guess.mean, 1.4, 1e-12);
  EXPECT_NEAR(guess.deviation, std::sqrt(1 - 2.0 / 3.75), 1e-12);
}

TEST(GaussianFit, a_point_that_is_left_out_is_told_by_the_other) {
  // Point 2 from point 1 alone: mean .5 / 2 * 3, variance 2 - .25 / 2.
  const std::vector<Guess> guesses = two_points().leave_one_out();
  ASSERT_EQ(guesses.size(), 2u);
  EXPECT_NEAR(guesses[1].mean, 0.75, 1e-12);
  EXPECT_NEAR(guesses[1].deviation, std::sqrt(1.875), 1e-12);
  EXPECT_NEAR(guesses[0].mean, 0, 1e-12);
}

TEST(GaussianFit, without_points_there_is_the_prior) {
  const GaussianFit fit({}, {});
  EXPECT_DOUBLE_EQ(fit.at({}, 4).deviation, 2);
  EXPECT_TRUE(fit.leave_one_out().empty());
}

}  // namespace
}  // namespace tutti
