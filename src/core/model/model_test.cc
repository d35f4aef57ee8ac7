// The small types of the model: profile, outcome, task states, task sets.
#include <gtest/gtest.h>

#include "core/model/job_spec.h"
#include "core/model/outcome.h"
#include "core/model/profile.h"
#include "core/model/task_state.h"

namespace tutti {
namespace {

TEST(profile, without_samples_nothing_is_known) {
  EXPECT_EQ(Profile().quantile(0.5), Duration(0));
  EXPECT_EQ(Profile().recent_mean(), Duration(0));
}

TEST(profile, quantiles_are_within_a_fifth_of_the_truth) {
  for (const std::int64_t truth : {1'000L, 30'000L, 2'000'000L, 3'600'000'000L}) {
    Profile profile;
    for (int i = 0; i < 100; ++i) profile.add(Duration(truth), MiB(5));
    EXPECT_NEAR(static_cast<double>(profile.quantile(0.5).value), static_cast<double>(truth),
                0.2 * static_cast<double>(truth));
  }
}

TEST(profile, quantiles_tell_the_usual_from_the_rare) {
  Profile profile;
  for (int i = 0; i < 95; ++i) profile.add(seconds(1), MiB(1));
  for (int i = 0; i < 5; ++i) profile.add(seconds(100), MiB(64));
  EXPECT_LT(profile.quantile(0.9), seconds(2));
  EXPECT_GT(profile.quantile(0.97), seconds(80));
  EXPECT_EQ(profile.peak_memory(), MiB(64));
}

TEST(profile, the_recent_mean_follows_the_last_runs) {
  Profile profile;
  for (int i = 0; i < 100; ++i) profile.add(seconds(10), MiB(1));
  for (int i = 0; i < 60; ++i) profile.add(seconds(1), MiB(1));
  EXPECT_LT(profile.recent_mean(), milliseconds(1200));
}

TEST(profile, extreme_times_are_counted_in_the_outer_buckets) {
  Profile profile;
  profile.add(Duration(-5), MiB(0));
  profile.add(seconds(1'000'000'000), MiB(0));
  EXPECT_EQ(profile.samples(), 2u);
  EXPECT_GT(profile.quantile(0.9), seconds(1));
}

TEST(profile, its_content_makes_an_equal_one) {
  Profile profile;
  for (int i = 1; i < 50; ++i) profile.add(milliseconds(i * i), MiB(i));
  EXPECT_EQ(Profile::of(profile.content()), profile);
}

TEST(outcome, exit_statuses_are_what_shells_use) {
  EXPECT_EQ(exit_status({}), 0);
  EXPECT_EQ(exit_status({.exit_code = 3}), 3);
  EXPECT_EQ(exit_status({.ending = Ending::kSignalled, .signal = 9}), 137);
  EXPECT_EQ(exit_status({.ending = Ending::kTimeout}), 124);
  EXPECT_EQ(exit_status({.ending = Ending::kOutOfMemory}), 137);
  EXPECT_EQ(exit_status({.ending = Ending::kCancelled}), 130);
  EXPECT_EQ(exit_status({.ending = Ending::kNotStarted}), 127);
  EXPECT_EQ(exit_status({.ending = Ending::kNotStarted, .exit_code = 126}), 126);
  EXPECT_EQ(exit_status({.ending = Ending::kLost}), 125);
}

TEST(outcome, only_exit_code_zero_is_success) {
  EXPECT_TRUE(Outcome{}.succeeded());
  EXPECT_FALSE((Outcome{.exit_code = 1}.succeeded()));
  EXPECT_FALSE((Outcome{.ending = Ending::kTimeout}.succeeded()));
}

TaskState state_with(std::initializer_list<TaskState> tasks) {
  TaskCounts counts;
  for (const TaskState task : tasks) ++counts[task];
  return job_state(counts);
}

TEST(task_state, a_job_runs_until_its_last_task_has_ended) {
  using enum TaskState;
  EXPECT_EQ(state_with({kQueued, kQueued}), kQueued);
  EXPECT_EQ(state_with({kQueued, kPlaced}), kPlaced);
  EXPECT_EQ(state_with({kQueued, kRunning, kFailed}), kRunning);
  EXPECT_EQ(state_with({kQueued, kSucceeded}), kRunning);
}

TEST(task_state, a_finished_job_is_as_good_as_its_worst_task) {
  using enum TaskState;
  EXPECT_EQ(state_with({kSucceeded, kSucceeded}), kSucceeded);
  EXPECT_EQ(state_with({kSucceeded, kFailed, kCancelled}), kFailed);
  EXPECT_EQ(state_with({kSucceeded, kCancelled, kSkipped}), kCancelled);
  EXPECT_EQ(state_with({kSkipped}), kSkipped);
}

TEST(task_set, labels_and_indices_belong_together) {
  const TaskSet set{.shape = TaskSet::Shape::kArray, .count = 4, .first = 10, .step = 5};
  EXPECT_EQ(set.label(3), 25);
  EXPECT_EQ(set.index_of(20), 2u);
  EXPECT_EQ(set.index_of(21), std::nullopt);
  EXPECT_EQ(set.index_of(5), std::nullopt);
  EXPECT_EQ(set.index_of(30), std::nullopt);
}

TEST(dependency, it_is_met_by_the_end_that_it_asks_for) {
  using When = Dependency::When;
  EXPECT_TRUE(is_met(When::kSuccess, TaskState::kSucceeded));
  EXPECT_FALSE(is_met(When::kSuccess, TaskState::kCancelled));
  EXPECT_TRUE(is_met(When::kFailure, TaskState::kFailed));
  EXPECT_FALSE(is_met(When::kFailure, TaskState::kSkipped));
  EXPECT_TRUE(is_met(When::kAny, TaskState::kCancelled));
  EXPECT_STREQ(when_name(When::kFailure), "failure");
}

TEST(profile, times_are_kept_by_type_and_number_of_devices) {
  Profile profile;
  profile.add_time("A100-80G", 4, seconds(10));
  profile.add_time("A100-80G", 4, seconds(20));
  profile.add_time("V100-32G", 8, seconds(40));
  EXPECT_EQ(profile.time_on("A100", 4), seconds(15));
  EXPECT_EQ(profile.time_on("A100", 8), Duration());
  EXPECT_EQ(profile.time_on("v100-32g", 8), seconds(40));
  EXPECT_EQ(Profile::of(profile.content()), profile);
}

TEST(request, variants_are_one_for_each_configuration) {
  Request request;
  request.devices.count = 4;
  request.devices.type = "A100";
  EXPECT_EQ(variants_of(request), std::vector<Request>{request});
  request.configurations = {{"A100", 4}, {"V100", 8}};
  const std::vector<Request> variants = variants_of(request);
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_EQ(variants[1].devices.type, "V100");
  EXPECT_EQ(variants[1].devices.count, 8u);
  EXPECT_TRUE(variants[1].configurations.empty());
}

}  // namespace
}  // namespace tutti
