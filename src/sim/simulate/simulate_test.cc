// Workloads on the daemon's controller: results worked out by hand.
#include "sim/simulate/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

#include "sim/simulate/benchmark.h"
#include "sim/simulate/recorded_workload.h"
#include "sim/simulate/report.h"
#include "sim/simulate/run_figures.h"
#include "sim/simulate/run_json.h"
#include "sim/simulate/trace_run.h"
#include "sim/workload/yaml_workload.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Case {
  std::unique_ptr<Workload> workload;
  TraceRunOptions options;
};

Case read(const std::string& text, Ordering ordering = Ordering::kFair) {
  auto parsed = parse_yaml_workload(text, "w.yaml");
  EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
  Case made{workload_of(parsed->jobs), {}};
  made.options.nodes = nodes_of(parsed->cluster);
  made.options.ordering = ordering;
  made.options.detail = Detail::kSpans;
  return made;
}

TraceOutcome run(Case made) {
  auto outcome = run_trace(*made.workload, made.options);
  EXPECT_TRUE(outcome.has_value());
  return *std::move(outcome);
}

constexpr char kThree[] =
    "cluster:\n"
    "  - {nodes: 1, cpus: 4, mem: 8G}\n"
    "jobs:\n"
    "  - {name: wide, submit: 0, runs: 100s, cpus: 3, time: 100s}\n"
    "  - {name: all, submit: 10s, runs: 50s, cpus: 4, time: 50s}\n"
    "  - {name: small, submit: 20s, runs: 30s, cpus: 1, time: 30s}\n";

std::vector<double> ends(const RunResult& run) {
  std::vector<double> all;
  for (const JobResult& job : run.jobs) all.push_back(job.finish_s.value_or(-1));
  return all;
}

// `small` waits behind `all`, which waits for `wide`: 100, 150 and 180.
TEST(trace_run, fifo_lets_nothing_pass) {
  const TraceOutcome done = run(read(kThree, Ordering::kFifo));
  EXPECT_THAT(ends(done.run), ElementsAre(100, 150, 180));
  EXPECT_DOUBLE_EQ(done.summary.mean_jct_s, (100 + 140 + 160) / 3.0);
  EXPECT_DOUBLE_EQ(done.summary.mean_queue_s, (0 + 90 + 130) / 3.0);
  EXPECT_DOUBLE_EQ(done.summary.makespan_s, 180);
}

// `small` ends at 50, long before `all` can start.
TEST(trace_run, backfill_lets_pass_what_delays_nobody) {
  const TraceOutcome done = run(read(kThree, Ordering::kBackfill));
  EXPECT_THAT(ends(done.run), ElementsAre(100, 150, 50));
  // 3 × 100 + 4 × 50 + 1 × 30 of 4 × 150 core seconds.
  EXPECT_DOUBLE_EQ(done.summary.device_use, 530.0 / 600);
}

TEST(trace_run, the_summary_of_the_kept_jobs_is_that_of_the_run) {
  const TraceOutcome done = run(read(kThree));
  const Summary again = summarise(done.run);
  EXPECT_EQ(summary_json(again, false), summary_json(done.summary, false));
}

TEST(trace_run, without_details_the_summary_is_the_same) {
  Case made = read(kThree);
  made.options.detail = Detail::kNone;
  const TraceOutcome lean = run(std::move(made));
  EXPECT_TRUE(lean.run.jobs.empty());
  EXPECT_EQ(summary_json(lean.summary, false), summary_json(run(read(kThree)).summary, false));
}

// Two of four GPUs of the one node that is in use are idle while the third job waits.
TEST(trace_run, idle_devices_of_used_nodes_are_stranded_while_somebody_waits) {
  const TraceOutcome done =
      run(read("cluster:\n"
               "  - {nodes: 1, cpus: 8, gpus: 4, type: A100}\n"
               "jobs:\n"
               "  - {name: a, runs: 100s, gpus: 2}\n"
               "  - {name: b, runs: 100s, gpus: 3}\n",
               Ordering::kFifo));
  EXPECT_DOUBLE_EQ(done.summary.fragmentation, 0.5);
  EXPECT_THAT(ends(done.run), ElementsAre(100, 200));
  EXPECT_EQ(done.run.devices, 4u);
  ASSERT_EQ(done.run.jobs[1].spans.size(), 1u);
  EXPECT_EQ(done.run.jobs[1].spans[0].type, "A100");
  EXPECT_EQ(done.run.jobs[1].spans[0].nodes.size(), 3u);
}

// Two jobs of four devices on four: each alone with a half would take twice its time. The first is
// done after 100 of 200 seconds, the second after 200 of 200.
TEST(trace_run, fairness_is_against_an_equal_part_of_the_cluster) {
  const TraceOutcome done =
      run(read("cluster:\n"
               "  - {nodes: 1, cpus: 8, gpus: 4, type: A100}\n"
               "jobs:\n"
               "  - {name: a, runs: 100s, gpus: 4, count: 2}\n"));
  EXPECT_DOUBLE_EQ(done.run.jobs[0].alone_s.value(), 200);
  // While it lives there are two for half of the time and one for the other.
  EXPECT_DOUBLE_EQ(done.run.jobs[1].alone_s.value(), 150);
  EXPECT_DOUBLE_EQ(done.summary.worst_fairness.value(), 200.0 / 150);
  EXPECT_DOUBLE_EQ(done.summary.unfair.value(), 0.5);
}

// Eight tasks of a core each on four cores take 100 s, whether or not a GPU is beside them.
TEST(trace_run, a_fair_share_of_cores_counts_also_where_there_are_devices) {
  for (const char* gpus : {"", ", gpus: 1, type: V100"}) {
    const TraceOutcome done = run(read("cluster: [{nodes: 1, cpus: 4" + std::string(gpus) +
                                       "}]\njobs: [{array: 1-8, runs: 50s, cpus: 1}]\n"));
    EXPECT_DOUBLE_EQ(done.run.jobs[0].alone_s.value(), 100);
    EXPECT_DOUBLE_EQ(done.summary.unfair.value(), 0);
  }
}

// `second` waits for `first` although there is room; `late` names one that has ended by then, and
// one that is not there.
TEST(trace_run, jobs_wait_for_those_that_they_name) {
  auto parsed = parse_yaml_workload(
      "cluster:\n  - {nodes: 1, cpus: 4}\n"
      "jobs:\n"
      "  - {name: first, runs: 100s}\n"
      "  - {name: second, runs: 10s}\n"
      "  - {name: late, submit: 200s, runs: 10s}\n",
      "w.yaml");
  ASSERT_TRUE(parsed);
  parsed->jobs[0].id = JobId(70);
  parsed->jobs[1].spec.after = {{JobId(70), Dependency::When::kAny}};
  parsed->jobs[2].spec.after = {{JobId(70), Dependency::When::kAny},
                                {JobId(3), Dependency::When::kAny}};
  Case made{workload_of(parsed->jobs), {}};
  made.options.nodes = nodes_of(parsed->cluster);
  made.options.detail = Detail::kJobs;
  const TraceOutcome done = run(std::move(made));
  EXPECT_THAT(ends(done.run), ElementsAre(100, 110, 210));
  EXPECT_EQ(done.refused, 0u) << done.first_refusal;
}

TEST(trace_run, a_job_wider_than_a_node_runs_on_several) {
  const TraceOutcome done =
      run(read("cluster:\n"
               "  - {nodes: 4, cpus: 8, gpus: 4, type: A100}\n"
               "jobs:\n"
               "  - {name: wide, runs: 100s, gpus: 16}\n"));
  EXPECT_THAT(ends(done.run), ElementsAre(100));
  EXPECT_EQ(done.run.jobs[0].devices, 16u);
  EXPECT_DOUBLE_EQ(done.run.jobs[0].device_s, 1600);
  EXPECT_EQ(done.run.jobs[0].spans.size(), 4u);
}

// Nine devices on two nodes are five and four, so that four and three are left; stated cores are
// those of all nodes together.
TEST(trace_run, a_wide_job_has_as_much_as_it_asks_for) {
  const TraceOutcome done =
      run(read("cluster:\n"
               "  - {nodes: 2, cpus: 96, gpus: 8, type: A100}\n"
               "jobs:\n"
               "  - {name: nine, runs: 100s, gpus: 9, cpus: 100}\n"
               "  - {name: four, runs: 100s, gpus: 4}\n"
               "  - {name: three, runs: 100s, gpus: 3}\n"));
  EXPECT_EQ(done.run.jobs[0].devices, 9);
  EXPECT_EQ(done.run.jobs[0].device_s, 900);
  EXPECT_THAT(ends(done.run), ElementsAre(100, 100, 100));
}

// GPUs would do with two ranks, cores take three; memory alone takes two. One GPU is for one rank.
TEST(trace_run, a_wide_job_has_as_many_ranks_as_all_that_it_asks_for_takes) {
  const std::string cluster =
      "cluster: [{nodes: 3, cpus: 48, mem: 64G, gpus: 4, type: A100}]\njobs: ";
  for (const char* job : {"[{name: a, runs: 100s, gpus: 5, cpus: 100}]",
                          "[{name: a, runs: 100s, gpus: 5, mem: 100G}]",
                          "[{name: a, runs: 100s, gpus: 1, cpus: 100}]",
                          "[{name: a, runs: 100s, cpus: 100, mem: 10G}]"}) {
    const TraceOutcome done = run(read(cluster + job));
    EXPECT_EQ(done.refused, 0u) << job << done.first_refusal;
    EXPECT_THAT(ends(done.run), ElementsAre(100)) << job;
  }
}

TEST(trace_run, a_configuration_that_is_too_large_makes_no_job_wide) {
  const TraceOutcome done =
      run(read("cluster:\n"
               "  - {nodes: 1, cpus: 8, gpus: 2, type: A100}\n"
               "jobs:\n"
               "  - {runs: 100s, configurations: [4xA100, 1xA100]}\n"));
  EXPECT_EQ(done.refused, 0u) << done.first_refusal;
  EXPECT_EQ(done.run.jobs.at(0).device_s, 100);
}

// Two halves of one device, while a job that wants both waits: half of the devices are idle.
TEST(trace_run, of_shared_devices_parts_are_counted) {
  const TraceOutcome done =
      run(read("cluster:\n"
               "  - {nodes: 1, cpus: 8, gpus: 2, type: A100}\n"
               "jobs:\n"
               "  - {name: half, runs: 200s, gpus: 1, gpu_util: 0.5, count: 2}\n"
               "  - {name: both, submit: 1s, runs: 100s, gpus: 2}\n",
               Ordering::kFifo));
  EXPECT_THAT(ends(done.run), ElementsAre(200, 200, 300));
  EXPECT_DOUBLE_EQ(done.run.jobs[0].device_s, 100);
  EXPECT_DOUBLE_EQ(done.summary.device_use, 400.0 / 600);
  EXPECT_DOUBLE_EQ(done.summary.fragmentation, 0.5);
}

TEST(trace_run, parts_of_cores_are_counted) {
  const TraceOutcome done =
      run(read("cluster: [{nodes: 1, cpus: 4}]\n"
               "jobs: [{runs: 100s, cpus: 1.5, count: 2}]\n"));
  EXPECT_DOUBLE_EQ(done.summary.device_use, 0.75);
  EXPECT_DOUBLE_EQ(done.run.jobs[0].devices, 1.5);
}

// Its ranks take 100 and 300 s: alone it would take 300.
TEST(trace_run, a_gang_alone_takes_as_long_as_its_longest_rank) {
  const TraceOutcome done =
      run(read("cluster: [{nodes: 2, cpus: 8, gpus: 2, type: A100}]\n"
               "jobs: [{runs: [100s, 300s], workers: 2, gpus: 2}]\n"));
  EXPECT_DOUBLE_EQ(done.run.jobs[0].alone_s.value(), 300);
  EXPECT_DOUBLE_EQ(done.summary.unfair.value(), 0);
  EXPECT_DOUBLE_EQ(done.run.jobs[0].device_s, 800);
}

TEST(trace_run, alone_a_job_runs_no_longer_than_its_limit) {
  const TraceOutcome done =
      run(read("cluster: [{nodes: 1, cpus: 1}]\njobs: [{runs: 1000s, time: 100s}]\n"));
  EXPECT_DOUBLE_EQ(done.run.jobs[0].alone_s.value(), 100);
}

// The first would take 1000 s. The second needs all of its limit and no more.
TEST(trace_run, what_a_time_limit_ends_has_met_no_deadline) {
  const TraceOutcome done =
      run(read("cluster: [{nodes: 1, cpus: 2}]\n"
               "jobs:\n"
               "  - {name: ended, runs: 1000s, time: 100s, deadline: 200s}\n"
               "  - {name: whole, runs: 100s, time: 100s, deadline: 200s}\n"));
  EXPECT_THAT(ends(done.run), ElementsAre(100, 100));
  EXPECT_TRUE(done.run.jobs[0].timed_out);
  EXPECT_FALSE(done.run.jobs[1].timed_out);
  EXPECT_EQ(done.timed_out, 1u);
  EXPECT_DOUBLE_EQ(done.summary.deadlines_met.value(), 0.5);
}

TEST(trace_run, tasks_that_take_no_time_may_be_many) {
  Case made = read("cluster: [{nodes: 1, cpus: 4}]\njobs: [{runs: 0, array: 1-12000, cpus: 4}]\n");
  made.options.detail = Detail::kNone;
  EXPECT_EQ(run(std::move(made)).summary.finished, 1u);
}

TEST(trace_run, what_fits_nowhere_is_told_and_not_counted) {
  const TraceOutcome done =
      run(read("cluster:\n"
               "  - {nodes: 1, cpus: 4, mem: 8G}\n"
               "jobs:\n"
               "  - {name: fits, runs: 10s}\n"
               "  - {name: not, runs: 10s, gpus: 1}\n"));
  EXPECT_EQ(done.refused, 1u);
  EXPECT_FALSE(done.first_refusal.empty());
  EXPECT_EQ(done.summary.jobs, 1u);
}

TEST(trace_run, tasks_of_an_array_take_the_times_that_are_said) {
  const TraceOutcome done =
      run(read("cluster:\n"
               "  - {nodes: 1, cpus: 1}\n"
               "jobs:\n"
               "  - {name: a, runs: [10s, 20s], array: 1-4}\n"));
  EXPECT_THAT(ends(done.run), ElementsAre(70));
}

// Four tasks of a second each on a node with room for all, of which only two may be there at once.
TEST(recorded_workload, a_job_keeps_how_many_of_its_tasks_a_node_may_run) {
  Recording recording;
  RecordedJob job{JobId(1), {}, TimePoint(1), std::vector<Duration>(4, seconds(1)), {}};
  job.spec.tasks = {TaskSet::Shape::kArray, 4};
  job.spec.request.cpus = MilliCpu(1000);
  job.spec.node_limits = {{"node-1", 2}};
  recording.jobs.push_back(job);
  auto workload = recorded_workload(std::move(recording));
  ASSERT_TRUE(workload.has_value());
  Case made = read(kThree);
  made.workload = *std::move(workload);
  made.options.nodes.front().name = "node-1";
  EXPECT_THAT(ends(run(std::move(made)).run), ElementsAre(2));
}

// 100 s on one V100, of which an iteration takes 4 s; on two A100 it takes 1 s, so that both of the
// jobs that find them free are done after 25 s, and the third, on the V100, after 100 s.
constexpr char kTwoTypes[] =
    "cluster:\n"
    "  - {nodes: 1, cpus: 8, gpus: 4, type: A100}\n"
    "  - {nodes: 1, cpus: 8, gpus: 1, type: V100}\n"
    "jobs:\n"
    "  - runs: 100s\n"
    "    configurations: [1xV100, 2xA100]\n"
    "    model: {name: bert, params: 1B, batch: 64}\n"
    "    count: 3\n";
SpeedTable two_speeds() {
  const ModelRun bert{"bert", 1'000'000'000, 64};
  SpeedTable speeds;
  speeds.set({bert, {"V100", 1, 1}}, {4});
  speeds.set({bert, {"A100", 1, 2}}, {1});
  return speeds;
}

TEST(trace_run, what_was_measured_of_speeds_decides_where_and_how_long_jobs_run) {
  Case made = read(kTwoTypes);
  made.options.speeds = two_speeds();
  EXPECT_THAT(ends(run(std::move(made)).run), ElementsAre(25, 25, 100));
  EXPECT_THAT(ends(run(read(kTwoTypes)).run), ElementsAre(100, 100, 100));
}

// It was recorded on two A100, and runs on the V100 now: four times as long.
TEST(recorded_workload, a_job_takes_the_time_of_the_configuration_that_it_gets) {
  Recording recording;
  RecordedJob job{JobId(1), {}, TimePoint(1), {seconds(25)}, Configuration{"A100-80G", 2}};
  job.spec.request.configurations = {{"V100", 1}, {"A100", 2}};
  job.spec.request.devices = {.count = 1, .type = "V100", .sharing = Sharing::kNever};
  job.spec.model = {"bert", 1'000'000'000, 64};
  recording.jobs.push_back(job);
  Case made = read("cluster: [{nodes: 1, cpus: 8, gpus: 1, type: V100}]\njobs: [{runs: 1s}]\n");
  made.workload = *recorded_workload(std::move(recording));
  made.options.speeds = two_speeds();
  EXPECT_THAT(ends(run(std::move(made)).run), ElementsAre(100));
}

// It took 25 s on two A100: alone it needs them for as long, and not one V100.
TEST(recorded_workload, a_job_has_the_size_of_the_configuration_that_it_had) {
  Recording recording;
  RecordedJob job{JobId(1), {}, TimePoint(1), {seconds(25)}, Configuration{"A100", 2}};
  job.spec.request.configurations = {{"V100", 1}, {"A100", 2}};
  job.spec.request.devices = {.count = 1, .type = "V100", .sharing = Sharing::kNever};
  recording.jobs = {job, job};
  recording.jobs.back().id = JobId(2);
  Case made = read("cluster: [{nodes: 1, cpus: 8, gpus: 2, type: A100}]\njobs: [{runs: 1s}]\n");
  made.workload = *recorded_workload(std::move(recording));
  const TraceOutcome done = run(std::move(made));
  EXPECT_THAT(ends(done.run), ElementsAre(25, 50));
  EXPECT_EQ(done.run.jobs[0].devices, 2);
  EXPECT_DOUBLE_EQ(done.run.jobs[0].alone_s.value(), 50);
}

// It is timed on one V100 and runs on two A100.
TEST(trace_run, of_several_configurations_the_one_that_a_job_got_counts) {
  Case made = read(kTwoTypes);
  made.options.speeds = two_speeds();
  const TraceOutcome done = run(std::move(made));
  EXPECT_EQ(done.run.jobs[0].devices, 2);
  EXPECT_EQ(done.run.jobs[0].device_s, 50);
  EXPECT_EQ(done.run.jobs[2].devices, 1);
}

// Both of the others would fit beside the first. The one of its kind waits until it was measured.
TEST(recorded_workload, jobs_wait_for_the_run_of_their_kind_that_is_measured) {
  Recording recording;
  for (const char* kind : {"train", "train", "other"}) {
    const JobId id(static_cast<std::uint32_t>(recording.jobs.size() + 1));
    RecordedJob job{id, {}, TimePoint(1), {seconds(10)}, Configuration{"A100", 1}};
    job.unknown = true;
    job.measured = recording.jobs.empty();
    job.spec.kind = kind;
    job.spec.request.devices = {.count = 1};
    if (!job.measured) job.spec.request.devices.memory = MiB(1024);
    recording.jobs.push_back(job);
  }
  Case made = read("cluster: [{cpus: 8, gpus: 2, type: A100}]\njobs: [{runs: 1s}]\n");
  made.workload = *recorded_workload(std::move(recording));
  EXPECT_THAT(ends(run(std::move(made)).run), ElementsAre(10, 20, 10));
}

TEST(recorded_workload, jobs_that_never_ran_to_an_end_are_told) {
  Recording recording;
  recording.jobs.push_back({JobId(1), {}, TimePoint(1), {seconds(1)}, {}});
  recording.left_out = 2;  // one was cancelled while it waited
  const auto workload = recorded_workload(std::move(recording));
  ASSERT_TRUE(workload.has_value());
  EXPECT_THAT((*workload)->left_out,
              ElementsAre("2 jobs of which no task has run and ended were left out."));
}

TEST(trace_run, half_again_as_many_jobs_follow_from_the_seed) {
  const auto scaled = [](double scale, std::uint64_t seed) {
    Case made = read("cluster:\n  - {nodes: 1, cpus: 4}\njobs:\n  - {runs: 1s, count: 1000}\n");
    made.options.jobs_scale = scale;
    made.options.seed = seed;
    return run(std::move(made));
  };
  const TraceOutcome once = scaled(1.5, 7);
  EXPECT_NEAR(static_cast<double>(once.summary.jobs), 1500, 60);
  EXPECT_EQ(report_data({{&once.run, &once.summary}}), [&] {
    const TraceOutcome again = scaled(1.5, 7);
    return report_data({{&again.run, &again.summary}});
  }());
  EXPECT_NE(scaled(1.5, 8).summary.jobs, once.summary.jobs);
  EXPECT_EQ(scaled(2, 1).summary.jobs, 2000u);
  EXPECT_NEAR(static_cast<double>(scaled(0.1, 1).summary.jobs), 100, 30);
}

TEST(trace_run, copies_of_a_job_have_names_of_their_own) {
  Case made = read("cluster: [{nodes: 1, cpus: 4}]\njobs: [{name: a, runs: 1s, count: 2}]\n");
  made.options.jobs_scale = 3;
  std::vector<std::string> names;
  for (const JobResult& job : run(std::move(made)).run.jobs) names.push_back(job.name);
  EXPECT_THAT(names, ElementsAre("a-1", "a-1+1", "a-1+2", "a-2", "a-2+1", "a-2+2"));
}

TEST(trace_run, every_order_runs_everything) {
  for (const std::string_view name : ordering_names()) {
    Case made = read(
        "cluster:\n"
        "  - {nodes: 2, cpus: 8, gpus: 2, type: A100}\n"
        "jobs:\n"
        "  - {name: a, runs: 100s, gpus: 1, count: 20, every: 10s, user: ann}\n"
        "  - {name: b, runs: 10s, cpus: 3, count: 40, every: 3s, time: 20s, user: bob}\n"
        "  - {name: c, runs: 30s, workers: 2, gpus: 2, submit: 50s}\n"
        "  - {name: d, runs: [1s, 5s], array: 1-30, submit: 60s}\n",
        *parse_ordering(name));
    const TraceOutcome done = run(std::move(made));
    EXPECT_EQ(done.summary.finished, 62u) << name;
    EXPECT_EQ(done.refused, 0u) << name << done.first_refusal;
  }
}

// ---- what is changed

class Simulate : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/tutti-simulate-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    request_.policies = {"fair"};
    request_.json = true;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // What is told of this work, as JSON; or the error.
  std::string told(const std::string& text) {
    request_.files = {folder_ + "/w.yaml"};
    std::ofstream(request_.files.front(), std::ios::binary) << text;
    std::string json;
    const auto shown =
        simulate(request_, {[&](std::string_view piece) { json += piece; }, {}}, nullptr);
    return shown ? json : shown.error().message;
  }

  std::string folder_;
  SimulationRequest request_;
};

// It has 40 GiB in each of its eight devices, twice the cores and memory of the one with four, and
// its label.
TEST_F(Simulate, an_added_node_is_like_those_that_have_the_same_devices) {
  request_.add_nodes = *parse_node_groups("1xA100:8");
  const std::string cluster =
      "cluster: [{cpus: 20, mem: 100G, gpus: 4, type: A100, gpu_mem: 40G, labels: [fast]}]\n";
  const std::string json =
      told(cluster +
           "jobs:\n"
           "  - {name: fits, runs: 1s, gpus: 8, cpus: 40, mem: 200G, labels: [fast]}\n"
           "  - {name: cores, runs: 1s, gpus: 8, cpus: 41, labels: [fast]}\n"
           "  - {name: memory, runs: 1s, gpus: 1, gpu_mem: 41G}\n");
  EXPECT_THAT(json, HasSubstr("\"name\":\"fits\""));
  EXPECT_THAT(json, HasSubstr("2 jobs fit no node"));
}

TEST_F(Simulate, without_a_job_that_fits_there_is_nothing_to_tell) {
  const std::string cluster = "cluster: [{nodes: 1, cpus: 2}]\njobs: ";
  EXPECT_THAT(told(cluster + "[{runs: 1s, gpus: 1}]"), StartsWith("the only job fits no node: "));
  EXPECT_THAT(told(cluster + "[{runs: 1s, gpus: 1, count: 3}]"),
              StartsWith("none of 3 jobs fits a node; the first: "));
  request_.jobs_scale = 0.001;
  EXPECT_EQ(told(cluster + "[{runs: 1s}]"),
            "jobs-scale: with 0.001 chance left no job; take more, or another --seed");
}

// ---- benchmarks

TEST(run_benchmark, finds_workloads_where_the_benchmarks_have_them) {
  const fs::path data = fs::path(testing::TempDir()) / ("benchmark." + std::to_string(getpid()));
  const std::map<std::string, std::string> folders = {{"sia-64", "sia/workloads/philly"},
                                                      {"pollux-64", "pollux/workloads"}};
  for (const auto& [benchmark, folder] : folders) {
    fs::create_directories(data / folder);
    std::ofstream(data / folder / "empty.csv");
    SimulationRequest request;
    request.benchmark = benchmark;
    request.data = data.string();
    request.workload = "empty.csv";
    const auto run = run_benchmark(request, "tutti");
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().message, (data / folder / "empty.csv").string() + ": is empty");
  }
  fs::remove_all(data);
}

// ---- what is written

TEST(run_json, text_is_quoted_and_numbers_are_short) {
  EXPECT_EQ(json_string("a\"b\\c\n\xff"), "\"a\\\"b\\\\c\\u000a\xEF\xBF\xBD\"");
  EXPECT_EQ(json_number(3), "3");
  EXPECT_EQ(json_number(0.1 + 0.2), "0.3");
  EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), "null");
}

TEST(report, the_page_has_a_place_for_its_data) {
  EXPECT_THAT(std::string(kReportPage), HasSubstr("/*TUTTI_DATA*/null"));
  EXPECT_THAT(std::string(kReportPage), Not(HasSubstr("http")));
}

TEST(report, names_cannot_end_the_script) {
  RunResult result;
  result.jobs.emplace_back();
  result.jobs.back().name = "</script><b>";
  const Summary summary = summarise(result);
  EXPECT_THAT(report_data({{&result, &summary}}), Not(HasSubstr("<")));
}

// Two jobs at once on a node of two devices get a row each; the next one gets the first row again.
TEST(report, a_job_has_the_rows_that_are_free) {
  const TraceOutcome done =
      run(read("cluster:\n"
               "  - {nodes: 1, cpus: 8, gpus: 2, type: A100}\n"
               "jobs:\n"
               "  - {name: a, runs: 10s, gpus: 1}\n"
               "  - {name: b, runs: 30s, gpus: 1}\n"
               "  - {name: c, runs: 10s, gpus: 1}\n"));
  EXPECT_THAT(report_data({{&done.run, &done.summary}}),
              HasSubstr("\"rows\":2,\"bars\":[0,0,10,0,1,1,0,30,1,1,2,10,20,0,1]"));
}

// Two share the first device, one has no device at all: a row for each that has one.
TEST(report, a_shared_device_has_a_row_for_each_that_shares_it) {
  const TraceOutcome done =
      run(read("cluster:\n"
               "  - {nodes: 1, cpus: 8, gpus: 2, type: A100}\n"
               "jobs:\n"
               "  - {name: none, runs: 10s}\n"
               "  - {name: half, runs: 10s, gpus: 1, gpu_util: 0.5, count: 2}\n"
               "  - {name: one, runs: 10s, gpus: 1}\n"));
  EXPECT_THAT(report_data({{&done.run, &done.summary}}),
              HasSubstr("\"rows\":3,\"bars\":[1,0,10,0,1,2,0,10,1,1,3,0,10,2,1]"));
}

TEST(report, notes_are_in_it) {
  RunResult result;
  result.notes = {"One was left out."};
  const Summary summary = summarise(result);
  EXPECT_THAT(report_data({{&result, &summary}}), HasSubstr("\"notes\":[\"One was left out.\"]"));
}

TEST(figures, a_node_may_have_devices_of_several_types) {
  RunResult result;
  result.nodes = {{.name = "n", .types = {"A100", "A100", "V100"}, .devices = 3}};
  EXPECT_EQ(figures_of(result, {}).cluster, "1 node: 2 A100, 1 V100");
}

}  // namespace
}  // namespace tutti
