#include "sim/results.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

JobResult job(double submit, std::optional<double> finish, double queue = 0) {
  JobResult one;
  one.submit_s = submit;
  one.finish_s = finish;
  one.queue_s = queue;
  return one;
}

TEST(summary, of_nothing_is_all_zero) {
  const Summary summary = summarise(RunResult());
  EXPECT_EQ(summary.jobs, 0u);
  EXPECT_EQ(summary.mean_jct_s, 0);
  EXPECT_EQ(summary.p99_jct_s, 0);
  EXPECT_FALSE(summary.deadlines_met.has_value());
}

// Times are 10, 20, 60 and, for the one that has not ended at 100, 90: their mean is 180 / 4, the
// median (20 + 60) / 2, and the elements floor(0.9 × 4) and floor(0.99 × 4) are both the last.
TEST(summary, unfinished_jobs_count_as_ended_at_the_horizon) {
  RunResult run;
  run.horizon_s = 100;
  run.jobs = {job(0, 10), job(0, 20), job(10, std::nullopt), job(20, 80)};
  const Summary summary = summarise(run);
  EXPECT_EQ(summary.jobs, 4u);
  EXPECT_EQ(summary.finished, 3u);
  EXPECT_DOUBLE_EQ(summary.mean_jct_s, 45);
  EXPECT_DOUBLE_EQ(summary.median_jct_s, 40);
  EXPECT_DOUBLE_EQ(summary.p90_jct_s, 90);
  EXPECT_DOUBLE_EQ(summary.p99_jct_s, 90);
  EXPECT_DOUBLE_EQ(summary.makespan_s, 100);
}

TEST(summary, the_99th_percentile_is_the_element_floor_of_99_percent) {
  RunResult run;
  for (int i = 1; i <= 200; ++i) run.jobs.push_back(job(0, i));
  EXPECT_DOUBLE_EQ(summarise(run).p99_jct_s, 199);
  EXPECT_DOUBLE_EQ(summarise(run).p90_jct_s, 181);
  EXPECT_DOUBLE_EQ(summarise(run).median_jct_s, 100.5);
}

// Two of four devices are used for all of the 50 seconds between the first submission and the last
// end: a half.
TEST(summary, use_counts_from_the_first_submission_to_the_last_end) {
  RunResult run;
  run.devices = 4;
  run.horizon_s = 1000;
  run.jobs = {job(50, 100)};
  run.jobs[0].device_s = 100;
  const Summary summary = summarise(run);
  EXPECT_DOUBLE_EQ(summary.device_use, 0.5);
  EXPECT_DOUBLE_EQ(summary.device_hours_per_job, 100.0 / 3600);
}

// Somebody waits from 0 to 10 with 2 of 8 devices stranded and from 30 to 40 with 6; from 10 to 30
// nobody does: (2 × 10 + 6 × 10) / (8 × 20).
TEST(summary, fragmentation_counts_only_while_somebody_waits) {
  RunResult run;
  run.devices = 8;
  run.horizon_s = 40;
  run.samples = {{.at_s = 0, .waiting = 1, .devices_stranded = 2},
                 {.at_s = 10, .waiting = 0, .devices_stranded = 7},
                 {.at_s = 30, .waiting = 5, .devices_stranded = 6}};
  EXPECT_DOUBLE_EQ(summarise(run).fragmentation, 0.5);
}

// Ratios of 2, 1 and 0.5; the fourth has no share to compare with. One of three is worse off.
TEST(summary, fairness_is_against_the_time_with_an_equal_share) {
  RunResult run;
  run.jobs = {job(0, 10), job(0, 10), job(0, 10), job(0, 10)};
  run.jobs[0].alone_s = 5;
  run.jobs[1].alone_s = 10;
  run.jobs[2].alone_s = 20;
  const Summary summary = summarise(run);
  EXPECT_DOUBLE_EQ(summary.unfair.value(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(summary.worst_fairness.value(), 2);
}

TEST(summary, without_a_share_to_compare_with_nothing_is_told_of_fairness) {
  RunResult run;
  run.jobs = {job(0, 10)};
  EXPECT_FALSE(summarise(run).unfair.has_value());
  EXPECT_FALSE(summarise(run).worst_fairness.has_value());
}

TEST(summary, deadlines_count_for_jobs_that_have_one) {
  RunResult run;
  run.horizon_s = 100;
  run.jobs = {job(0, 10), job(0, 20), job(0, std::nullopt), job(0, 5)};
  run.jobs[0].deadline_s = 10;
  run.jobs[1].deadline_s = 19;
  run.jobs[2].deadline_s = 500;
  EXPECT_DOUBLE_EQ(summarise(run).deadlines_met.value(), 1.0 / 3);
}

TEST(summary, decisions_and_throughput_are_those_of_the_run) {
  RunResult run;
  run.decision_ms = {5, 1, 3};
  run.samples = {{.throughput = 2}, {.throughput = 4}};
  const Summary summary = summarise(run);
  EXPECT_DOUBLE_EQ(summary.decision_ms_median, 3);
  EXPECT_DOUBLE_EQ(summary.decision_ms_p95, 5);
  EXPECT_DOUBLE_EQ(summary.throughput_mean, 3);
}

TEST(summary, restarts_and_queueing_are_means) {
  RunResult run;
  run.jobs = {job(0, 10, 4), job(0, 10, 0)};
  run.jobs[0].restarts = 3;
  EXPECT_DOUBLE_EQ(summarise(run).restarts_per_job, 1.5);
  EXPECT_DOUBLE_EQ(summarise(run).mean_queue_s, 2);
}

}  // namespace
}  // namespace tutti
