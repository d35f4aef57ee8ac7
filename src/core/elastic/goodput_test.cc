#include "core/elastic/goodput.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti {
namespace {

TEST(StepGain, is_one_with_the_first_batch_and_bounded_by_the_scale) {
  EXPECT_DOUBLE_EQ(step_gain({1, 5}, 1), 1);
  // (5 + 1) / (5 / 4 + 1)
  EXPECT_DOUBLE_EQ(step_gain({1, 5}, 4), 6 / 2.25);
  EXPECT_DOUBLE_EQ(step_gain({0, 5}, 4), 4);
  EXPECT_DOUBLE_EQ(step_gain({1, 0}, 4), 1);
}

TEST(StepModel, adds_computing_and_exchanging_when_they_do_not_overlap) {
  const StepModel model{0.1, 0.01, 0.3, 0.02, 0.2, 0.01, 1};
  EXPECT_NEAR(model.step_s(1, 1, 10), 0.2, 1e-6);
  EXPECT_NEAR(model.step_s(1, 4, 10), 0.2 + 0.2 + 0.02, 1e-12);
  EXPECT_NEAR(model.step_s(2, 8, 10), 0.2 + 0.3 + 0.12, 1e-12);
}

// Samples of a known model: the fit finds it again.
TEST(FitStepModel, finds_the_model_that_made_the_samples) {
  const StepModel truth{0.05, 0.002, 0.09, 0.004, 0.03, 0.001, 1.2};
  std::vector<StepSample> samples;
  for (const auto& [nodes, devices] :
       {std::pair{1u, 1u}, {1u, 2u}, {1u, 4u}, {2u, 8u}, {4u, 16u}}) {
    for (const std::uint32_t local : {16u, 32u, 64u}) {
      const double step = truth.step_s(nodes, devices, local);
      samples.push_back({nodes, devices, local, step, step - truth.compute_s(local)});
    }
  }
  const StepModel model = fit_step_model(samples, 1e-9);
  for (const StepSample& one : samples)
    EXPECT_NEAR(model.step_s(one.nodes, one.devices, one.local_batch) / one.step_s, 1, 0.15);
  EXPECT_NEAR(model.step_s(3, 12, 48) / truth.step_s(3, 12, 48), 1, 0.15);
}

TEST(FitStepModel, takes_nodes_that_nobody_has_seen_for_slower_than_one) {
  const StepModel model =
      fit_step_model(std::vector<StepSample>{{1, 1, 32, 0.2, 0}, {1, 2, 32, 0.25, 0.05}}, 1e-9);
  EXPECT_GT(model.step_s(2, 2, 32), model.step_s(1, 2, 32));
}

TEST(SplitBatch, accumulates_what_does_not_fit) {
  const BatchLimits limits{.first = 128, .most = 4096, .least_local = 32, .most_local = 256};
  EXPECT_EQ(split_batch(1024, 4, limits).local, 256u);
  EXPECT_EQ(split_batch(1024, 4, limits).accumulated, 0u);
  EXPECT_EQ(split_batch(2048, 4, limits).local, 256u);
  EXPECT_EQ(split_batch(2048, 4, limits).accumulated, 1u);
  EXPECT_EQ(split_batch(100, 3, limits).local, 34u);
  // One device alone measures its gradient by accumulating.
  EXPECT_EQ(split_batch(256, 1, limits).accumulated, 1u);
  EXPECT_EQ(split_batch(256, 1, limits).local, 128u);
}

TEST(BestBatch, grows_with_the_noise_of_the_gradient) {
  const StepModel model{0.05, 0.0005, 0.1, 0.01, 0.05, 0.001, 1};
  const BatchLimits limits{.first = 128, .most = 4096, .least_local = 32, .most_local = 1024};
  const auto total = [&](const GradientStats& stats) {
    const BatchChoice best = best_batch(model, stats, 1, 4, limits);
    return 4 * best.local * (best.accumulated + 1);
  };
  EXPECT_LT(total({1, 1}), total({1, 100}));
  EXPECT_EQ(total({1, 0}), 128u);
  EXPECT_EQ(total({0, 1}), 4096u);
}

TEST(BestBatch, is_none_where_none_is_possible) {
  const BatchLimits limits{.first = 8, .most = 16, .least_local = 8, .most_local = 4};
  EXPECT_EQ(best_batch({}, {1, 1}, 1, 1, limits).local, 0u);
}

}  // namespace
}  // namespace tutti
