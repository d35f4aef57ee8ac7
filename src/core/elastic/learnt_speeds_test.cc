#include "core/elastic/learnt_speeds.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

constexpr GradientStats kStats{1, 10};
constexpr BatchLimits kLimits{.first = 32, .most = 1024, .least_local = 8, .most_local = 128};

class SpeedsTest : public testing::Test {
 protected:
  SpeedsTest() {
    speeds_.set_limits("resnet", "t4", kLimits, 10);
    speeds_.set_limits("resnet", "a100", kLimits, 40);
  }
  void see(const char* type, std::uint32_t devices, std::uint32_t local, double step_s) {
    speeds_.saw_step("resnet", type, {1, devices, local, step_s, devices > 1 ? 0.01 : 0});
  }
  double rate(const char* type, std::uint32_t devices, bool curious = false) {
    return speeds_.rate("resnet", type, 1, devices, kStats, curious);
  }
  LearntSpeeds speeds_;
};

TEST_F(SpeedsTest, nothing_is_known_of_a_kind_that_never_ran) {
  EXPECT_FALSE(speeds_.knows("resnet"));
  EXPECT_EQ(rate("t4", 1), 0);
  EXPECT_EQ(speeds_.most_devices("resnet"), 0u);
  EXPECT_FALSE(speeds_.knows("bert"));
  EXPECT_EQ(speeds_.rate("bert", "t4", 1, 1, kStats, false), 0);
}

TEST_F(SpeedsTest, more_devices_are_faster) {
  see("t4", 1, 32, 0.1);
  see("t4", 2, 32, 0.11);
  see("t4", 2, 64, 0.2);
  EXPECT_TRUE(speeds_.knows("resnet"));
  EXPECT_GT(rate("t4", 2), rate("t4", 1));
  EXPECT_GT(rate("t4", 4), rate("t4", 2));
  EXPECT_EQ(speeds_.most_devices("resnet"), 2u);
}

TEST_F(SpeedsTest, a_type_without_measurements_is_guessed_from_another) {
  see("t4", 1, 32, 0.1);
  EXPECT_NEAR(rate("a100", 1) / rate("t4", 1), 4, 1e-5);
}

TEST_F(SpeedsTest, what_nobody_has_tried_counts_a_little_more) {
  see("t4", 1, 32, 0.1);
  EXPECT_DOUBLE_EQ(rate("t4", 1, true), rate("t4", 1, false));
  EXPECT_GT(rate("t4", 2, true), rate("t4", 2, false));
}

TEST_F(SpeedsTest, measured_speed_moves_all_expectations_of_the_kind) {
  see("t4", 1, 32, 0.1);
  const double before = rate("t4", 4);
  for (int i = 0; i < 20; ++i) speeds_.saw_speed("resnet", rate("t4", 1), 0.5);
  EXPECT_NEAR(rate("t4", 1), 0.5, 0.01);
  EXPECT_LT(rate("t4", 4), before);
}

}  // namespace
}  // namespace tutti
