#include "client/gpu_views.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace tutti {
namespace {

namespace json = boost::json;

TEST(GpuViews, the_answer_about_gpus_is_read) {
  const GpusView view = gpus_view(json::parse(
      R"({"source":"nvml","trouble":null,"notes":["no ROCm"],"gpus":[{"index":1,"node":"box",
      "name":"NVIDIA A100-SXM4-80GB","type":"A100-80G","memory_mib":81920,"used_mib":10240,
      "reserved_mib":20480,"utilization":0.37,"emulated":true,"healthy":false,"reason":"ECC",
      "attempts":[{"job":12,"task":3,"attempt":1,"user":"ann","measuring":true}],
      "leases":[{"lease":13,"pid":4711,"user":"bob","measuring":false}],
      "foreign":[{"pid":99,"user":"eve","command":"python x.py","used_mib":1200}]}]})"));
  EXPECT_EQ(view.source, "nvml");
  EXPECT_EQ(view.trouble, "");
  EXPECT_EQ(view.notes, std::vector<std::string>{"no ROCm"});
  ASSERT_EQ(view.gpus.size(), 1u);
  const GpuView& gpu = view.gpus[0];
  EXPECT_EQ(gpu.index, 1);
  EXPECT_EQ(gpu.reserved_mib, 20480);
  EXPECT_EQ(gpu.utilization, 0.37);
  EXPECT_TRUE(gpu.emulated);
  EXPECT_FALSE(gpu.healthy);
  EXPECT_EQ(gpu.reason, "ECC");
  ASSERT_EQ(gpu.holders.size(), 2u);
  EXPECT_EQ(gpu.holders[0].task, 3);
  EXPECT_TRUE(gpu.holders[0].measuring);
  EXPECT_EQ(gpu.holders[1].lease, 13u);
  ASSERT_EQ(gpu.foreign.size(), 1u);
  EXPECT_EQ(gpu.foreign[0].command, "python x.py");
}

TEST(GpuViews, what_is_missing_or_odd_keeps_its_default) {
  const GpusView view = gpus_view(json::parse(R"({"gpus":[{"index":"x","healthy":null},7]})"));
  ASSERT_EQ(view.gpus.size(), 2u);
  EXPECT_TRUE(view.gpus[0].healthy);
  EXPECT_TRUE(view.gpus[1].healthy);
  EXPECT_TRUE(gpus_view(json::parse("[]")).gpus.empty());
  EXPECT_TRUE(profile_views(json::parse(R"({"profiles":{}})")).empty());
}

TEST(GpuViews, profiles_are_read_and_absurd_times_are_bounded) {
  const auto profiles = profile_views(json::parse(
      R"({"profiles":[{"kind":"a/b.py::f","samples":12,"seconds_p50":40.5,"seconds_p90":1e300,
      "peak_memory_mib":900,"gpus":[{"type":"T4","samples":11,"peak_mib":9000,"need_mib":9600,
      "utilization":0.41,"preallocates":true}]}]})"));
  ASSERT_EQ(profiles.size(), 1u);
  EXPECT_EQ(profiles[0].kind, "a/b.py::f");
  EXPECT_EQ(profiles[0].p50, milliseconds(40'500));
  EXPECT_GT(profiles[0].p90, seconds(1'000'000));
  ASSERT_EQ(profiles[0].gpus.size(), 1u);
  EXPECT_EQ(profiles[0].gpus[0].need_mib, 9600);
  EXPECT_TRUE(profiles[0].gpus[0].preallocates);
}

TEST(GpuViews, tasks_and_nodes_know_their_gpus) {
  const TaskView task = task_view(
      json::parse(R"({"task":1,"gpus":[{"index":2,"granted_mib":9600}],"gpu_peak_mib":9000,
      "gpu_utilization":0.5,"oom_retries":2})"));
  ASSERT_EQ(task.gpus.size(), 1u);
  EXPECT_EQ(task.gpus[0].granted_mib, 9600);
  EXPECT_EQ(task.gpu_utilization, 0.5);
  EXPECT_EQ(task.oom_retries, 2u);
  const TaskView plain = task_view(json::parse(R"({"gpus":null,"gpu_utilization":null})"));
  EXPECT_TRUE(plain.gpus.empty());
  EXPECT_FALSE(plain.gpu_utilization);
  const NodeView node =
      node_view(json::parse(R"({"devices":[{"type":"T4"},{"type":"T4","emulated":true}]})"));
  EXPECT_EQ(node.devices, (std::vector<DeviceTypeView>{{"T4", false}, {"T4", true}}));
}

}  // namespace
}  // namespace tutti
