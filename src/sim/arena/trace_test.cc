#include "sim/arena/trace.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

constexpr const char* kHead =
    "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,gpu_type\n";

std::string trace_error(const std::string& rows) {
  const auto trace = parse_arena_trace(kHead + rows, "t.csv");
  return trace ? "" : trace.error().message;
}

TEST(ArenaTrace, has_one_job_in_each_line) {
  const auto trace = parse_arena_trace(std::string(kHead) +
                                           "a,1000,600,wide_resnet__6.8B,2000,256,4,a40\r\n"
                                           "b,1000,5,bert__760M,0,128,1,v100\n",
                                       "t.csv");
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->size(), 2u);
  const ArenaJob& job = trace->front();
  EXPECT_EQ(job.name, "a");
  EXPECT_EQ(job.submit_s, 1000);
  EXPECT_EQ(job.iterations, 600);
  EXPECT_EQ(job.model, "wide_resnet");
  EXPECT_EQ(job.size, "6.8B");
  EXPECT_EQ(job.deadline_s, 2000);
  EXPECT_EQ(job.batch, 256u);
  EXPECT_EQ(job.devices, 4u);
  EXPECT_EQ(job.type, "a40");
}

TEST(ArenaTrace, rows_may_be_in_any_order_of_time) {
  const auto trace = parse_arena_trace(std::string(kHead) +
                                           "a,9,5,bert__760M,0,128,1,v100\n"
                                           "b,8,5,bert__760M,0,128,1,v100\n"
                                           "c,8,5,bert__760M,0,128,1,v100\n",
                                       "t.csv");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->at(0).name, "b");
  EXPECT_EQ(trace->at(1).name, "c");
  EXPECT_EQ(trace->at(2).name, "a");
}

TEST(ArenaTrace, what_is_wrong_is_said_with_file_and_line) {
  EXPECT_EQ(trace_error("a,1,5,bert__760M,0,128,1,v100\nb,2,5,bert__760M,0,128,none,v100\n"),
            "t.csv:3: num_gpu is 'none', not a whole number from 1 to 65536");
  EXPECT_EQ(trace_error("a,1,5,bert,0,128,1,v100\n"),
            "t.csv:2: model_name is 'bert', not MODEL__SIZE, such as bert__1.3B");
  EXPECT_EQ(trace_error("a,1,5,bert__760M,0,128,1,\n"), "t.csv:2: gpu_type is empty");
  EXPECT_EQ(trace_error(""), "t.csv:1: the trace has no job");
}

TEST(ArenaTrace, a_workload_of_another_benchmark_is_recognised) {
  const auto trace =
      parse_arena_trace("name,time,application,num_replicas,batch_size\na,1,ncf,1,32\n", "t.csv");
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().message,
            "t.csv:1: this is a workload for --benchmark sia-64 or pollux-64");
}

TEST(ArenaTrace, columns_that_are_missing_are_named) {
  const auto trace = parse_arena_trace("job_id,submission_time\na,1\n", "t.csv");
  ASSERT_FALSE(trace);
  EXPECT_NE(trace.error().message.find("num_iteration"), std::string::npos);
}

}  // namespace
}  // namespace tutti
