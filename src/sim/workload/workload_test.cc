// The readers of workloads: what they take, and what they say about what they do not.
#include "sim/workload/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/workload/yaml_workload.h"

namespace tutti {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WorkloadFile : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/tutti-workload-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<std::unique_ptr<Workload>> open(const std::string& name, const std::string& text,
                                         const std::string& format = "") {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return open_workload(path, format);
  }
  // The error without the folder's name.
  std::string error(const std::string& name, const std::string& text) {
    const auto opened = open(name, text);
    if (opened) return "no error";
    const std::string& message = opened.error().message;
    const std::size_t at = message.find(folder_ + "/");
    return at == std::string::npos ? message : message.substr(at + folder_.size() + 1);
  }
  std::vector<WorkloadJob> jobs(Workload& workload) {
    std::vector<WorkloadJob> all;
    while (auto job = *workload.next()) all.push_back(*job);
    return all;
  }

  std::string folder_;
};

// ---- swf

constexpr char kSwf[] =
    "; Version: 2.2\n"
    "; MaxProcs: 128\n"
    "\n"
    "  1 100 5 60 4 -1 -1 8 3600 -1 1 3 2 7 1 -1 -1 -1\n"
    "2 160 -1 30.5 2 -1 -1 -1 -1 2048 1 -1 -1 -1 -1 -1 -1 -1\n"
    "3 170 -1 -1 2 -1 -1 2 -1 -1 5 4 1 -1 1 -1 -1 -1\n";

TEST_F(WorkloadFile, swf_jobs_have_processors_times_and_owners) {
  auto workload = open("t.swf", kSwf);
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  EXPECT_EQ((*workload)->name, "t.swf");
  EXPECT_EQ((*workload)->jobs, 2u);
  const std::vector<WorkloadJob> all = jobs(**workload);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].submit, Duration(0));
  EXPECT_EQ(all[0].spec.name, "1");
  EXPECT_EQ(all[0].spec.request.cpus, MilliCpu(8000));
  EXPECT_EQ(all[0].spec.time_limit, seconds(3600));
  EXPECT_EQ(all[0].spec.user, "user3");
  EXPECT_EQ(all[0].spec.project, "group2");
  EXPECT_EQ(all[0].spec.kind, "app7");
  EXPECT_EQ(all[1].submit, seconds(60));
  EXPECT_EQ(all[1].runs[0], milliseconds(30'500));
  EXPECT_EQ(all[1].spec.request.cpus, MilliCpu(2000));
  EXPECT_EQ(all[1].spec.request.memory, MiB(4));  // 2048 KiB for each of two
  EXPECT_EQ(all[1].spec.time_limit, Duration(0));
}

TEST_F(WorkloadFile, swf_says_how_large_the_cluster_is_and_what_was_left_out) {
  auto workload = open("t.swf", kSwf);
  ASSERT_TRUE(workload.has_value());
  ASSERT_EQ((*workload)->cluster.size(), 1u);
  EXPECT_EQ((*workload)->cluster[0].cpus, MilliCpu(128'000));
  EXPECT_THAT((*workload)->left_out,
              ElementsAre("1 job without a run time or processors was left out."));
}

TEST_F(WorkloadFile, swf_that_overran_its_request_gets_the_time_that_it_had) {
  auto workload = open("t.swf", "1 0 0 100 1 -1 -1 1 60 -1 1 1 1 1 1 -1 -1 -1\n");
  ASSERT_TRUE(workload.has_value());
  EXPECT_EQ(jobs(**workload)[0].spec.time_limit, seconds(100));
}

// The first was checkpointed twice: its first line is about all of it.
TEST_F(WorkloadFile, swf_lines_of_partial_executions_are_no_jobs) {
  auto workload = open("t.swf",
                       "1 0 0 100 1 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1\n"
                       "1 0 0 30 1 -1 -1 1 -1 -1 2 1 1 1 1 -1 -1 -1\n"
                       "1 0 0 30 1 -1 -1 1 -1 -1 2 1 1 1 1 -1 -1 -1\n"
                       "1 0 0 40 1 -1 -1 1 -1 -1 3 1 1 1 1 -1 -1 -1\n"
                       "2 9 0 10 1 -1 -1 1 -1 -1 0 1 1 1 1 -1 -1 -1\n"
                       "2 9 0 10 1 -1 -1 1 -1 -1 4 1 1 1 1 -1 -1 -1\n"
                       "3 9 0 10 1 -1 -1 1 -1 -1 5 1 1 1 1 -1 -1 -1\n");
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  std::vector<std::string> names;
  for (const WorkloadJob& job : jobs(**workload)) names.push_back(job.spec.name);
  EXPECT_THAT(names, ElementsAre("1", "2", "3"));
  EXPECT_THAT((*workload)->left_out,
              ElementsAre("4 lines of parts of jobs were left out; those of whole jobs count."));
}

TEST_F(WorkloadFile, swf_errors_name_the_line) {
  EXPECT_EQ(error("t.swf", "; c\n1 2 3\n"),
            "t.swf:2: a job has 18 numbers in the Standard Workload Format, this line has 3");
  EXPECT_EQ(error("t.swf", "1 0 0 ten 1 -1 -1 1 60 -1 1 1 1 1 1 -1 -1 -1\n"),
            "t.swf:1: field 4: 'ten' is no number; unknown is -1");
  EXPECT_THAT(error("t.swf", "; nothing\n"), HasSubstr("no jobs that could be simulated"));
}

TEST_F(WorkloadFile, swf_numbers_that_are_too_large_are_called_so) {
  for (const char* time : {"9999999999", "1e400", "inf"})
    EXPECT_EQ(
        error("t.swf", "1 0 0 100 1 -1 -1 1 " + std::string(time) + " -1 1 1 1 1 1 -1 -1 -1\n"),
        "t.swf:1: field 9: '" + std::string(time) +
            "' is too large (at most 3162240000); unknown is -1");
  EXPECT_THAT(error("t.swf", "1 0 0 -2 1 -1 -1 1 60 -1 1 1 1 1 1 -1 -1 -1\n"),
              HasSubstr("field 4: '-2' is less than -1"));
  EXPECT_THAT(error("t.swf", "1 0 0 nan 1 -1 -1 1 60 -1 1 1 1 1 1 -1 -1 -1\n"),
              HasSubstr("'nan' is no number"));
}

TEST_F(WorkloadFile, swf_fields_that_are_not_used_may_be_anything) {
  auto workload =
      open("t.swf", "1 0 99999999999 100 1 ? 1e30 1 60 -1 done 1 1 1 -7 night -1 99999999999\n");
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  EXPECT_EQ(jobs(**workload)[0].runs[0], seconds(100));
}

TEST_F(WorkloadFile, a_trace_out_of_order_is_sorted_and_starts_with_its_first_job) {
  auto workload = open("t.swf",
                       "1 500 0 10 1 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1\n"
                       "2 100 0 10 1 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1\n");
  ASSERT_TRUE(workload.has_value());
  for (int twice = 0; twice < 2; ++twice) {
    ASSERT_TRUE((*workload)->rewind().has_value());
    const std::vector<WorkloadJob> all = jobs(**workload);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].spec.name, "2");
    EXPECT_EQ(all[0].submit, Duration(0));
    EXPECT_EQ(all[1].submit, seconds(400));
  }
}

// ---- philly

TEST_F(WorkloadFile, csv_columns_are_found_by_their_names) {
  auto workload = open("t.csv",
                       "vc,JobID,submitted_time,gpu_num,duration,gpu_type,user,deadline,extra\r\n"
                       "a,j1,100,2,60,V100,ann,200,x\r\n"
                       ",j2,150.5,0,30,,,,\r\n");
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  const std::vector<WorkloadJob> all = jobs(**workload);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].spec.name, "j1");
  EXPECT_EQ(all[0].spec.user, "ann");
  EXPECT_EQ(all[0].spec.project, "a");
  EXPECT_EQ(all[0].spec.request.devices.count, 2u);
  EXPECT_EQ(all[0].spec.request.devices.type, "V100");
  EXPECT_TRUE(all[0].spec.request.devices.whole());
  EXPECT_EQ(all[0].deadline, seconds(100));
  EXPECT_EQ(all[1].submit, milliseconds(50'500));
  EXPECT_EQ(all[1].spec.project, "default");
  EXPECT_EQ(all[1].deadline, Duration(0));
}

TEST_F(WorkloadFile, csv_deadlines_are_times_and_one_that_has_passed_is_none) {
  auto workload =
      open("t.csv", "submit,duration,num_gpu,deadline\n100,9,1,101\n100,9,1,100\n100,9,1,7\n");
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  const std::vector<WorkloadJob> all = jobs(**workload);
  EXPECT_EQ(all[0].deadline, seconds(1));
  EXPECT_EQ(all[1].deadline, Duration(0));
  EXPECT_EQ(all[2].deadline, Duration(0));
}

TEST_F(WorkloadFile, csv_times_may_be_dates) {
  auto workload = open("t.csv",
                       "submitted_time,duration,gpu_num,deadline\n"
                       "2017-10-01 00:00:10,60,1,2017-10-01T00:01:00\n"
                       "2017-09-30 23:59:59,60,1,\n");
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  EXPECT_EQ((*workload)->starts_at, seconds(1506815999));
  const std::vector<WorkloadJob> all = jobs(**workload);
  EXPECT_EQ(all[1].submit, seconds(11));
  EXPECT_EQ(all[1].deadline, seconds(50));
  const std::string head = "submit,duration,num_gpu\n";
  for (const char* none : {"2017-02-29 00:00:00", "2017-10-01 24:00:00", "2017-10-01 00:60:00",
                           "2017-10-01", "2017-10-01 00:00:0x", "2017/10/01 00:00:00"})
    EXPECT_THAT(error("t.csv", head + none + ",1,1\n"), HasSubstr("is no number")) << none;
}

TEST_F(WorkloadFile, csv_of_benchmarks_are_sent_there) {
  EXPECT_THAT(error("t.csv", "job_id,submission_time,num_iteration,model_name,num_gpu\n"),
              HasSubstr("--benchmark arena-1280"));
  EXPECT_THAT(error("t.csv", "name,time,application,num_replicas,batch_size\n"),
              HasSubstr("--benchmark sia-64"));
}

TEST_F(WorkloadFile, csv_errors_name_the_line_and_the_column) {
  const std::string head = "job_id,submit,duration,num_gpu\n";
  EXPECT_EQ(error("t.csv", head + "a,1,2\n"), "t.csv:2: it has 3 cells, the first line has 4");
  EXPECT_EQ(error("t.csv", head + "a,now,2,1\n"),
            "t.csv:2: submit: 'now' is no number; write seconds, or such as 2017-10-01 00:00:00");
  EXPECT_EQ(error("t.csv", head + "a,1700000000000,2,1\n"),
            "t.csv:2: submit: '1700000000000' is too large (at most 3162240000); write seconds, or "
            "such as 2017-10-01 00:00:00");
  EXPECT_EQ(error("t.csv", head + "a,1,2017-10-01 00:00:00,1\n"),
            "t.csv:2: duration: '2017-10-01 00:00:00' is no number; write seconds");
  EXPECT_EQ(error("t.csv", head + "a,1,2,1\nb,1,2,-1\n"),
            "t.csv:3: num_gpu: '-1' is no number of GPUs");
  EXPECT_EQ(error("t.csv", "job_id,submit,num_gpu\n"),
            "t.csv:1: no column is called 'duration'; the first line must name at least submit, "
            "duration and num_gpu");
  EXPECT_THAT(error("t.csv", "submit,duration,num_gpu,run_time\n"),
              HasSubstr("two columns are the duration"));
}

TEST_F(WorkloadFile, csv_cells_may_stand_in_quotes) {
  auto workload =
      open("t.csv", "\"job_id\",\"submit\",\"duration\",\"num_gpu\"\n\"a, again\",\"1\",2,1\n");
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  EXPECT_EQ(jobs(**workload)[0].spec.name, "a, again");
  EXPECT_EQ(error("t.csv", "job_id,submit,duration,num_gpu\n\"a\"b,1,2,1\n"),
            "t.csv:2: quotes are understood around a whole cell, and without a quote in it");
}

TEST_F(WorkloadFile, a_byte_order_mark_is_no_part_of_the_first_name) {
  const std::string mark = "\xEF\xBB\xBF";
  for (const char* name : {"t.csv", "t"}) {
    auto workload = open(name, mark + "submit,duration,num_gpu\n1,2,1\n");
    ASSERT_TRUE(workload.has_value()) << workload.error().message;
    EXPECT_EQ((*workload)->jobs, 1u);
  }
  EXPECT_TRUE(open("s", mark + "; SWF\n1 0 0 10 1 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1\n"));
  EXPECT_TRUE(open("y", mark + "jobs:\n  - runs: 1h\n"));
}

// ---- yaml

TEST(yaml_workload, jobs_and_cluster_are_read) {
  const auto read = parse_yaml_workload(
      "cluster:\n"
      "  - {name: big, nodes: 2, cpus: 64, mem: 256G, gpus: 8, type: A100-80G}\n"
      "  - {nodes: 3, cpus: 16}\n"
      "jobs:\n"
      "  - {name: train, submit: 10m, runs: 2h, gpus: 4, count: 3, every: 1m, deadline: 5h}\n"
      "  - {runs: [1s, 2s], array: 1-4, user: bob, cpus: 2, time: 10s}\n",
      "w.yaml");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->cluster.size(), 2u);
  EXPECT_EQ(read->cluster[0].name, "big");
  EXPECT_EQ(read->cluster[0].gpus, 8u);
  EXPECT_EQ(read->cluster[1].count, 3u);
  ASSERT_EQ(read->jobs.size(), 4u);
  EXPECT_EQ(read->jobs[2].spec.name, "train-3");
  EXPECT_EQ(read->jobs[2].spec.kind, "train");
  EXPECT_EQ(read->jobs[2].submit, seconds(720));
  EXPECT_EQ(read->jobs[2].deadline, seconds(5 * 3600));
  EXPECT_TRUE(read->jobs[2].spec.request.devices.whole());
  EXPECT_EQ(read->jobs[3].spec.tasks.count, 4u);
  EXPECT_THAT(read->jobs[3].runs, ElementsAre(seconds(1), seconds(2)));
  EXPECT_EQ(read->jobs[3].spec.user, "bob");
}

TEST(yaml_workload, a_job_may_be_a_gang) {
  const auto read =
      parse_yaml_workload("jobs:\n  - {runs: 1h, workers: 4, gpus: 8, cpus: 8}\n", "w.yaml");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->jobs[0].spec.gang.workers.size(), 1u);
  EXPECT_EQ(read->jobs[0].spec.gang.workers[0].ranks.count, 4u);
}

TEST(yaml_workload, configurations_and_models_are_written_as_in_job_files) {
  const auto read = parse_yaml_workload(
      "jobs:\n"
      "  - {name: a, runs: 1h, configurations: [4xA100, 8xV100],\n"
      "     model: {name: bert, params: 1.3B, batch: 256}}\n"
      "  - {name: a, runs: 1h, configurations: '4xA100,8xV100', model: bert_1.3B_256}\n",
      "w.yaml");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->jobs[0].spec.request.configurations.size(), 2u);
  EXPECT_EQ(read->jobs[0].spec.model.batch, 256u);
  EXPECT_EQ(read->jobs[0].spec, read->jobs[1].spec);
}

std::string yaml_error_of(const std::string& text) {
  const auto read = parse_yaml_workload(text, "w.yaml");
  return read ? "no error" : read.error().message;
}

TEST(yaml_workload, errors_have_a_place_and_say_what_to_do) {
  EXPECT_EQ(yaml_error_of("jobs:\n  - {submit: 1s}\n"),
            "w.yaml:2:5: runs is missing; say how long it takes");
  EXPECT_THAT(yaml_error_of("jobs:\n  - {runs: 1s, gpu: 1}\n"), HasSubstr("did you mean 'gpus'?"));
  EXPECT_THAT(yaml_error_of("jobs:\n  - {runs: soon}\n"), HasSubstr("w.yaml:2:12: "));
  EXPECT_THAT(yaml_error_of("jobs:\n  - {runs: 1s, every: 1m}\n"),
              HasSubstr("every needs a count"));
  EXPECT_THAT(yaml_error_of("cluster:\n  - {gpus: 8}\n"), HasSubstr("add such as 'type: A100'"));
  EXPECT_THAT(yaml_error_of("cluster:\n  - {type: A100}\n"), HasSubstr("no gpus"));
  EXPECT_THAT(yaml_error_of("machines: []\n"), HasSubstr("unknown field 'machines'"));
  EXPECT_THAT(yaml_error_of("jobs:\n  - {runs: 1s, output: x}\n"), HasSubstr("unknown field"));
  EXPECT_THAT(yaml_error_of("jobs:\n  - {runs: 1s, workers: 2, array: 1-3}\n"),
              HasSubstr("workers cannot be combined with array"));
  EXPECT_EQ(yaml_error_of("jobs:\n  - {runs: 1s, workers: 0}\n"),
            "w.yaml:2:25: workers '0': write a whole number from 1 to 10000");
}

TEST(yaml_workload, lists_are_lists_and_not_empty) {
  EXPECT_EQ(yaml_error_of("jobs: []\n"),
            "w.yaml:1:7: jobs is empty; write a list such as '- {submit: 0, runs: 1h}'");
  EXPECT_EQ(yaml_error_of("cluster: []\n"),
            "w.yaml:1:10: cluster is empty; write a list such as '- {nodes: 2, cpus: 64}'");
  EXPECT_THAT(yaml_error_of("jobs: 3\n"), HasSubstr("jobs is text; write a list such as"));
  EXPECT_THAT(yaml_error_of("jobs:\n"), HasSubstr("jobs is empty; write a list such as"));
}

// ---- which reader

TEST_F(WorkloadFile, formats_are_told_apart_by_their_look) {
  EXPECT_TRUE(open("a", "; SWF\n1 0 0 10 1 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1\n").has_value());
  EXPECT_TRUE(open("b", "job_id,submit,duration,num_gpu\na,1,2,1\n").has_value());
  EXPECT_TRUE(open("c", "jobs:\n  - runs: 1h\n").has_value());
  EXPECT_THAT(error("d", "hello\n"), HasSubstr("say --format yaml, philly or swf"));
}

TEST_F(WorkloadFile, a_format_that_is_said_counts) {
  EXPECT_TRUE(open("a.txt", "submit,duration,num_gpu\n1,2,1\n", "philly").has_value());
  EXPECT_THAT(open("a.txt", "x", "csv").error().message, HasSubstr("none of yaml, philly, swf"));
  EXPECT_THAT(open_workload(folder_ + "/nothing", "").error().message, HasSubstr("cannot be read"));
}

TEST_F(WorkloadFile, several_files_become_one_by_time) {
  std::vector<std::unique_ptr<Workload>> parts;
  parts.push_back(
      *open("a.yaml", "jobs:\n  - {name: a, submit: 5s, runs: 1s, count: 2, every: 9s}\n"));
  parts.push_back(*open("b.yaml", "jobs:\n  - {name: b, submit: 7s, runs: 1s}\n"));
  const std::unique_ptr<Workload> merged = merge(std::move(parts));
  EXPECT_EQ(merged->name, "a.yaml + b.yaml");
  EXPECT_EQ(merged->jobs, 3u);
  std::vector<std::string> names;
  for (const WorkloadJob& job : jobs(*merged)) names.push_back(job.spec.name);
  EXPECT_THAT(names, ElementsAre("a-1", "b", "a-2"));
  EXPECT_THAT(merged->left_out, IsEmpty());
}

// The second begins 300 s after the first by their clock; what has none begins with the first.
TEST_F(WorkloadFile, traces_that_become_one_keep_their_times) {
  std::vector<std::unique_ptr<Workload>> parts;
  parts.push_back(*open("late.csv", "submit,duration,num_gpu\n1300,5,1\n"));
  parts.push_back(*open("plan.yaml", "jobs:\n  - {name: p, submit: 7s, runs: 1s}\n"));
  parts.push_back(*open("early.csv", "submit,duration,num_gpu\n1020,5,1\n1000,5,1\n"));
  const std::unique_ptr<Workload> merged = merge(std::move(parts));
  std::vector<Duration> submits;
  for (const WorkloadJob& job : jobs(*merged)) submits.push_back(job.submit);
  EXPECT_THAT(submits, ElementsAre(seconds(0), seconds(7), seconds(20), seconds(300)));
}

TEST_F(WorkloadFile, jobs_of_the_far_future_are_refused) {
  EXPECT_THAT(error("w.yaml", "jobs:\n  - {runs: 1s, every: 36500d, count: 100000}\n"),
              HasSubstr("after more than a hundred years"));
}

}  // namespace
}  // namespace tutti
