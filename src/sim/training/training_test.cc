#include "sim/training/training.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include "sim/csv_table.h"
#include "tests/support/benchmark_data.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;

// A made-up application in a folder of its own: every step takes 0.1 s with up to four devices on a
// node, whatever the batch, of which nothing is spent on exchange; larger batches gain nothing. An
// epoch is 100 steps of the first batch, so that it takes 10 s.
class MadeUpData : public testing::Test {
 protected:
  MadeUpData() : folder_(fs::path(testing::TempDir()) / ("training." + std::to_string(getpid()))) {
    write("sia/traces/ncf/placements-aws.csv",
          "placement,local_bsz,step_time,sync_time\n"
          "1,8,0.1,0\n1,32,0.1,0\n2,8,0.1,0\n2,32,0.1,0\n4,8,0.1,0\n4,32,0.1,0\n44,8,0.2,0.1\n"
          "44,32,0.2,0.1\n");
    write("sia/traces/ncf/scalability-aws.csv",
          "num_nodes,num_replicas,local_bsz,step_time,sync_time\n");
    for (const char* batch : {"32", "256"}) {
      std::string text = "progress,iteration,metric,grad_sqr,grad_var\n";
      for (int epoch = 1; epoch <= 10; ++epoch)
        text += std::to_string(100 * epoch) + "," + std::to_string(100 * epoch) + ",0,1,0\n";
      write(std::string("sia/traces/ncf/validation-") + batch + ".csv", text);
    }
  }
  ~MadeUpData() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  RunResult run(const std::string& policy, const std::string& jobs, std::uint32_t rounds = 0) {
    const auto result = run_training(
        TrainingBenchmark::kPollux64,
        {.data = folder_.string(),
         .workload = write("jobs.csv", "name,time,application,num_replicas,batch_size\n" + jobs),
         .policy = policy,
         .rounds = rounds});
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return result ? *result : RunResult();
  }

  fs::path folder_;
};

// Asked at 5 s, decided at 60 s, restored until 90 s, ten epochs of 10 s: ends at 190 s.
TEST_F(MadeUpData, a_job_alone_ends_when_it_can_be_computed_to_end) {
  for (const char* policy : {"las", "fifo", "backfill", "srtf", "tutti", "sia", "cells"}) {
    const RunResult result = run(policy, "a,5,ncf,1,32\n");
    ASSERT_EQ(result.jobs.size(), 1u);
    EXPECT_EQ(result.jobs[0].finish_s, 190) << policy;
    EXPECT_EQ(result.jobs[0].first_start_s, 60) << policy;
    EXPECT_EQ(result.jobs[0].restarts, 0u) << policy;
    EXPECT_EQ(result.jobs[0].device_s, 180) << policy;  // whole rounds are counted
  }
}

// All 64 devices from 60 s until 190 s; the round until 240 s is counted as a whole, but not used.
TEST_F(MadeUpData, no_more_devices_are_used_than_there_are) {
  std::string jobs;
  for (int i = 0; i < 16; ++i) jobs += "j" + std::to_string(i) + ",60,ncf,4,32\n";
  const RunResult result = run("fifo", jobs);
  EXPECT_EQ(result.jobs[0].device_s, 720);
  EXPECT_EQ(result.jobs[0].unused_s, 200);
  EXPECT_DOUBLE_EQ(summarise(result).device_use, 1);
}

// Sixteen nodes of four: the seventeenth job of four devices waits until a round ends after 190 s.
TEST_F(MadeUpData, who_does_not_fit_waits_for_the_round_after_an_end) {
  std::string jobs;
  for (int i = 0; i < 17; ++i) jobs += "j" + std::to_string(i) + ",5,ncf,4,32\n";
  const RunResult result = run("fifo", jobs);
  EXPECT_EQ(result.jobs[15].finish_s, 190);
  EXPECT_EQ(result.jobs[16].first_start_s, 240);
  EXPECT_EQ(result.jobs[16].finish_s, 370);
  EXPECT_EQ(result.jobs[16].queue_s, 235);
  EXPECT_EQ(result.jobs[0].queue_s, 55);  // until the first round
}

TEST_F(MadeUpData, what_is_submitted_after_the_last_round_is_not_counted) {
  const RunResult result = run("fifo", "a,5,ncf,1,32\nb,60,ncf,1,32\nc,61,ncf,1,32\n", 1);
  ASSERT_EQ(result.jobs.size(), 2u);
  EXPECT_EQ(result.jobs[1].name, "b");
  EXPECT_EQ(result.horizon_s, 60);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_NE(result.notes[0].find("not counted: 1;"), std::string::npos);
}

// Its rounds are six times as long as those of others.
TEST_F(MadeUpData, gavel_ends_when_others_do) {
  EXPECT_EQ(run("gavel", "a,5,ncf,1,32\n", 12).horizon_s,
            run("fifo", "a,5,ncf,1,32\nb,600,ncf,1,32\n", 12).horizon_s);
}

TEST_F(MadeUpData, lines_may_be_in_any_order_of_time) {
  for (const char* policy : {"las", "fifo", "tutti"}) {
    const RunResult result = run(policy, "b,600,ncf,1,32\na,5,ncf,1,32\n");
    ASSERT_EQ(result.jobs.size(), 2u);
    EXPECT_EQ(result.jobs[0].name, "a") << policy;
    EXPECT_EQ(result.jobs[0].finish_s, 190) << policy;
    EXPECT_EQ(result.jobs[1].finish_s, 730) << policy;
  }
}

TEST_F(MadeUpData, the_run_has_all_nodes_used_or_not) {
  const RunResult result = run("fifo", "a,5,ncf,1,32\n");
  ASSERT_EQ(result.nodes.size(), 16u);
  EXPECT_EQ(result.nodes[15].name, "aws-15");
  EXPECT_EQ(result.nodes[15].devices, 4u);
  EXPECT_EQ(result.jobs[0].spans[0].nodes, (std::vector<std::string>{"aws-0"}));
  EXPECT_EQ(result.devices, 64u);
}

TEST_F(MadeUpData, the_same_seed_gives_the_same_run) {
  const RunResult first = run("tutti", "a,5,ncf,4,32\nb,70,ncf,1,32\n");
  const RunResult second = run("tutti", "a,5,ncf,4,32\nb,70,ncf,1,32\n");
  EXPECT_EQ(first.jobs[1].finish_s, second.jobs[1].finish_s);
  EXPECT_EQ(first.samples.size(), second.samples.size());
}

TEST_F(MadeUpData, bad_workloads_are_refused_with_file_and_line) {
  const auto refused = [&](const std::string& text, const char* policy = "tutti") {
    const auto result = run_training(
        TrainingBenchmark::kPollux64,
        {.data = folder_.string(), .workload = write("bad.csv", text), .policy = policy});
    return result ? std::string("accepted") : result.error().message;
  };
  const std::string head = "name,time,application,num_replicas,batch_size\n";
  EXPECT_NE(refused("job_id,submission_time,num_iteration\na,1,5\n").find("arena-1280"),
            std::string::npos);
  EXPECT_NE(refused(head + "a,x,ncf,1,32\n").find("bad.csv:2: 'x'"), std::string::npos);
  EXPECT_EQ(refused(head + "a,1,gpt,1,32\n").find("job 'a': the benchmark knows"), 0u);
  EXPECT_NE(refused(head + "a,1,ncf,0,32\n").find("at least one device"), std::string::npos);
  EXPECT_NE(refused(head + "a,1,ncf,1,0\n").find("bad.csv:2: a batch"), std::string::npos);
  EXPECT_NE(refused(head + "a,1,ncf,1,-5\n").find("bad.csv:2: a batch"), std::string::npos);
  EXPECT_NE(refused(head + "a,1,ncf,1,32\na,2,ncf,1,32\n").find("a second job 'a'"),
            std::string::npos);
  EXPECT_NE(refused(head + "a,1,chess,1,32\n").find("'chess'"), std::string::npos);
  for (const char* policy : {"fifo", "fair", "backfill", "srtf", "gavel", "las"})
    EXPECT_NE(refused(head + "a,1,ncf,65,32\n", policy).find("job 'a' can never run"),
              std::string::npos);
  EXPECT_NE(refused(head + "a,1,ncf,1,99999999\n", "fifo").find("no type has 1 GPU for batches"),
            std::string::npos);
  EXPECT_EQ(refused(head + "a,1,ncf,65,32\n", "tutti"), "accepted");  // it chooses by itself
  for (const char* policy : {"tutti", "optimus", "las"})
    EXPECT_NE(refused(head + "a,1,ncf,1,16\n", policy).find("for batches of 16"),
              std::string::npos);
  EXPECT_NE(refused(head).find("has no jobs"), std::string::npos);
  EXPECT_NE(refused("name\n").find("no column 'time'"), std::string::npos);
}

TEST(RunTraining, names_the_policies_that_there_are) {
  const auto refused = [](TrainingBenchmark benchmark, const char* policy) {
    return run_training(benchmark, {.data = "", .workload = "", .policy = policy}).error().message;
  };
  EXPECT_EQ(refused(TrainingBenchmark::kSia64, "tuti"),
            "policy: 'tuti' is none of tutti, sia, las, fifo, backfill, fair, srtf, gavel, cells, "
            "did you mean 'tutti'?");
  EXPECT_NE(refused(TrainingBenchmark::kPollux64, "best").find("las, optimus, fifo"),
            std::string::npos);
}

// Against published and recorded results.
class PublishedResults : public BenchmarkTest {
 protected:
  PublishedResults() : BenchmarkTest(TUTTI_BENCHMARK_FOLDER) {}

  // Each has 160 jobs. Sanitizers look for other faults, which one shows as well.
#ifdef TUTTI_SANITIZED
  static constexpr std::array kWorkloads = {"workload-1"};
#else
  static constexpr std::array kWorkloads = {"workload-1", "workload-2", "workload-3", "workload-4"};
#endif

  // How many completion times of the workloads are those that were published.
  std::size_t equal_to_published(const std::string& policy, const std::string& file) {
    const CsvTable table = *CsvTable::read(data_ + "/pollux/published/" + file + "_1.0.csv");
    std::map<std::pair<std::string, std::string>, double> published;
    for (std::size_t i = 0; i < table.rows(); ++i)
      published[{table.text(i, 0), table.text(i, 1)}] = *table.number(i, 2);
    std::size_t equal = 0;
    for (const std::string workload : kWorkloads) {
      const auto result =
          run_training(TrainingBenchmark::kPollux64,
                       {.data = data_,
                        .workload = data_ + "/pollux/workloads/" + workload + ".csv",
                        .policy = policy});
      EXPECT_TRUE(result);
      for (const JobResult& job : result->jobs)
        equal += job.finish_s && *job.finish_s - job.submit_s == published[{workload, job.name}];
    }
    return equal;
  }
};

TEST_F(PublishedResults, tiresias_on_pollux_64) {
  EXPECT_EQ(equal_to_published("las", "tiresias"), 160 * kWorkloads.size());
}

TEST_F(PublishedResults, optimus_on_pollux_64) {
  EXPECT_EQ(equal_to_published("optimus", "optimus"), 160 * kWorkloads.size());
}

TEST_F(PublishedResults, every_step_time_that_was_looked_up) {
  const CsvTable table = *CsvTable::read(data_ + "/physics/expected/step_vectors.csv");
  std::map<std::pair<std::string, std::string>, StepTable> tables;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const std::string& application = table.text(i, 0);
    const std::string& type = table.text(i, 1);
    auto found = tables.find({application, type});
    if (found == tables.end()) {
      auto read =
          StepTable::read(data_ + "/sia/traces/" + application,
                          data_ + "/physics/segments/" + application + "-" + type + ".csv", type);
      ASSERT_TRUE(read) << read.error().message;
      found = tables.emplace(std::pair(application, type), std::move(*read)).first;
    }
    Layout layout;
    for (const char digit : table.text(i, 2)) {
      if (digit != ' ') layout.push_back(static_cast<std::uint32_t>(digit - '0'));
    }
    const auto time = found->second.find(layout, *table.count(i, 3));
    EXPECT_EQ(time.has_value(), !table.text(i, 4).empty()) << "row " << i;
    if (!time || table.text(i, 4).empty()) continue;
    EXPECT_NEAR(time->step_s / *table.number(i, 4), 1, 1e-10);
    EXPECT_NEAR(time->sync_s / *table.number(i, 5), 1, 1e-10);
  }
}

// The fit at the very point that was recorded.
TEST_F(PublishedResults, the_model_of_recorded_samples) {
  const std::string types[] = {"aws"};
  const Application cifar = *read_application(data_, "cifar10", types);
  std::vector<StepSample> samples;
  for (const auto& [layout, local] :
       {std::pair<Layout, std::uint32_t>{{1}, 128}, {{2}, 128}, {{4}, 200}, {{4, 4}, 256}}) {
    const StepTime time = *cifar.steps.at("aws").find(layout, local);
    std::uint32_t devices = 0;
    for (const std::uint32_t count : layout) devices += count;
    samples.push_back(
        {static_cast<std::uint32_t>(layout.size()), devices, local, time.step_s, time.sync_s});
  }
  const StepModel model = fit_step_model(samples, 1e-5);
  EXPECT_NEAR(model.compute, 0.017439, 1e-5);
  EXPECT_NEAR(model.compute_per_sample, 0.00069465, 1e-7);
  EXPECT_NEAR(model.across, 0.033306, 1e-5);
  EXPECT_NEAR(model.overlap, 1.13884, 1e-4);
}

}  // namespace
}  // namespace tutti
