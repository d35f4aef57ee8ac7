#include "core/spec/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

using Words = std::vector<std::string>;

const JobId kJob(1234567);

JobSpec spec_of(Command command) {
  JobSpec spec;
  spec.name = "demo";
  spec.user = "ann";
  spec.command = std::move(command);
  spec.workdir = "/home/ann";
  spec.env = {"PATH=/bin"};
  return spec;
}

AttemptId attempt_of(std::uint32_t index, std::uint32_t number = 1) {
  return {{kJob, index}, number};
}

Node node_with_devices(std::uint32_t count) {
  Node node;
  node.id = NodeId(1);
  node.name = "box";
  for (std::uint32_t i = 0; i < count; ++i) {
    Device device;
    device.id = DeviceId(i);
    device.uuid = "GPU-" + std::to_string(i);
    node.devices.push_back(device);
  }
  return node;
}

Launch launch(const JobSpec& spec, const std::string& line = "") {
  return launch_of(kJob, spec, attempt_of(0), line, {}, node_with_devices(0));
}

JobSpec batch() {
  JobSpec spec = spec_of({});
  spec.lines = {"a", "b"};
  spec.tasks = {TaskSet::Shape::kBatch, 2, 1, 1, 0};
  return spec;
}

TEST(Launch, of_a_program_is_its_argv) {
  EXPECT_THAT(launch(spec_of({{"python", "a b.py"}, "", ""})).argv,
              ElementsAre("python", "a b.py"));
}

TEST(Launch, of_shell_text_goes_through_bash_when_needed) {
  EXPECT_THAT(launch(spec_of({{}, "echo $HOME", ""})).argv,
              ElementsAre("/bin/bash", "-c", "echo $HOME"));
  EXPECT_THAT(launch(spec_of({{}, "echo 'a b'", ""})).argv, ElementsAre("echo", "a b"));
}

TEST(Launch, of_a_batch_line_avoids_the_shell_where_it_can) {
  EXPECT_THAT(launch(batch(), "/bin/true -x").argv, ElementsAre("/bin/true", "-x"));
  EXPECT_THAT(launch(batch(), "a | b").argv, ElementsAre("/bin/bash", "-c", "a | b"));
}

TEST(Launch, of_an_exported_bash_function_goes_through_bash) {
  JobSpec spec = batch();
  spec.env.push_back("BASH_FUNC_train%%=() {  :\n}");
  EXPECT_THAT(launch(spec, "train 3").argv, ElementsAre("/bin/bash", "-c", "train 3"));
  EXPECT_THAT(launch(spec, "trai 3").argv, ElementsAre("trai", "3"));
}

TEST(Launch, of_a_long_line_goes_through_a_file) {
  const std::string line = "echo " + std::string(1 << 20, 'x');
  const Launch started = launch(batch(), line);
  EXPECT_THAT(started.argv, ElementsAre("/bin/bash", kScriptPlaceholder));
  EXPECT_EQ(started.script_text, line);
}

TEST(Launch, of_a_script_respects_its_shebang) {
  const Launch with = launch(spec_of({{"t.py", "x", "y"}, "", "#!/usr/bin/python3\n"}));
  EXPECT_THAT(with.argv, ElementsAre(kScriptPlaceholder, "x", "y"));
  EXPECT_EQ(with.script_text, "#!/usr/bin/python3\n");
  const Launch without = launch(spec_of({{}, "", "echo a\n"}));
  EXPECT_THAT(without.argv, ElementsAre("/bin/bash", kScriptPlaceholder));
}

TEST(Launch, tells_the_task_who_it_is) {
  JobSpec spec = spec_of({{"a"}, "", ""});
  spec.tasks = {TaskSet::Shape::kArray, 5, 10, 2, 0};
  Allocation allocation;
  allocation.cpus = MilliCpu(1500);
  allocation.memory = MiB(2048);
  const Launch started =
      launch_of(kJob, spec, attempt_of(3, 2), "", allocation, node_with_devices(0));
  EXPECT_THAT(
      started.env,
      IsSupersetOf({"TUTTI_JOB_ID=1234567", "TUTTI_JOB_NAME=demo", "TUTTI_PROJECT=default",
                    "TUTTI_TASK=16", "TUTTI_TASK_INDEX=3", "TUTTI_TASK_COUNT=5",
                    "TUTTI_ARRAY_INDEX=16", "TUTTI_RANK=3", "TUTTI_WORLD_SIZE=5", "TUTTI_ATTEMPT=2",
                    "TUTTI_NODE=box", "TUTTI_CPUS=1.5", "TUTTI_MEMORY_MIB=2048"}));
  EXPECT_THAT(started.env, Not(Contains(StartsWith("CUDA_"))));
}

TEST(Launch, of_no_array_has_no_array_index) {
  EXPECT_THAT(launch(batch(), "a").env, Not(Contains(StartsWith("TUTTI_ARRAY_INDEX"))));
}

TEST(Launch, makes_the_granted_devices_visible_by_uuid) {
  JobSpec spec = spec_of({{"a"}, "", ""});
  spec.request.devices.count = 2;
  Allocation allocation;
  allocation.devices = {{DeviceId(1), {}, {}}, {DeviceId(3), {}, {}}};
  Node node = node_with_devices(4);
  const auto env = [&] { return launch_of(kJob, spec, attempt_of(0), "", allocation, node).env; };
  EXPECT_THAT(env(),
              IsSupersetOf({"CUDA_VISIBLE_DEVICES=GPU-1,GPU-3", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}));
  node.devices[3].uuid.clear();
  EXPECT_THAT(env(), Contains("CUDA_VISIBLE_DEVICES=1,3"));
}

TEST(Launch, hides_devices_that_were_not_asked_for) {
  const Launch started =
      launch_of(kJob, spec_of({{"a"}, "", ""}), attempt_of(0), "", {}, node_with_devices(1));
  EXPECT_THAT(started.env, Contains("CUDA_VISIBLE_DEVICES="));
  EXPECT_THAT(started.env, Not(Contains(StartsWith("CUDA_DEVICE_ORDER"))));
}

TEST(LaunchContext, carries_what_all_attempts_share) {
  JobSpec spec = spec_of({{"a"}, "", ""});
  spec.snapshot = "abc";
  spec.time_limit = seconds(5);
  spec.request.memory = MiB(7);
  const LaunchContext context = context_of(kJob, spec);
  EXPECT_EQ(context.job, kJob);
  EXPECT_EQ(context.workdir, "/home/ann");
  EXPECT_EQ(context.env, Words({"PATH=/bin"}));
  EXPECT_EQ(context.snapshot, "abc");
  EXPECT_EQ(context.limits, Limits());
  EXPECT_EQ(context.time_limit, seconds(5));
  EXPECT_EQ(context.grace, seconds(10));
}

TEST(LaunchContext, what_was_stated_is_a_limit) {
  JobSpec spec = spec_of({{"a"}, "", ""});
  spec.request.cpus = MilliCpu(2000);
  spec.request.memory = MiB(7);
  spec.request.limit_memory = true;
  EXPECT_EQ(context_of(kJob, spec).limits, (Limits{{}, MiB(7)}));
  spec.request.limit_cpus = true;
  EXPECT_EQ(context_of(kJob, spec).limits, (Limits{MilliCpu(2000), MiB(7)}));
  WorkerGroup workers;
  workers.ranks.request = spec.request;
  workers.cpu_limit = MilliCpu(5000);
  spec.gang.workers = {WorkerGroup(), workers};
  EXPECT_EQ(context_of(kJob, spec, 0).limits, Limits());
  EXPECT_EQ(context_of(kJob, spec, 1).limits, (Limits{MilliCpu(5000), MiB(7)}));
}

TEST(LogPath, is_below_the_log_folder_by_default) {
  const JobSpec single = spec_of({{"a"}, "", ""});
  const auto path = [](const JobSpec& spec, AttemptId attempt, LogStream stream) {
    return log_path(kJob, spec, attempt, stream);
  };
  EXPECT_EQ(path(single, attempt_of(0), LogStream::kStdout), "1234/1234567.out");
  EXPECT_EQ(path(single, attempt_of(0), LogStream::kStderr), "1234/1234567.err");
  EXPECT_EQ(path(single, attempt_of(0, 2), LogStream::kStdout), "1234/1234567.a2.out");
  EXPECT_EQ(path(batch(), attempt_of(1), LogStream::kStdout), "1234/1234567/2.out");
  EXPECT_EQ(path(batch(), attempt_of(1, 3), LogStream::kStderr), "1234/1234567/2.a3.err");
}

TEST(LogPath, follows_the_jobs_patterns) {
  JobSpec spec = batch();
  spec.name = "x/y";
  spec.stdout_pattern = "logs/%n-%j-%t-%a.%u";
  EXPECT_EQ(log_path(kJob, spec, attempt_of(1, 2), LogStream::kStdout),
            "/home/ann/logs/x_y-1234567-2-2.ann");
  EXPECT_EQ(log_path(kJob, spec, attempt_of(1, 2), LogStream::kStderr),
            "/home/ann/logs/x_y-1234567-2-2.ann");
  spec.stderr_pattern = "/tmp/%t.err";
  EXPECT_EQ(log_path(kJob, spec, attempt_of(1), LogStream::kStderr), "/tmp/2.err");
  spec.stdout_pattern.clear();
  EXPECT_EQ(log_path(kJob, spec, attempt_of(1), LogStream::kStdout), "1234/1234567/2.out");
}

}  // namespace
}  // namespace tutti
