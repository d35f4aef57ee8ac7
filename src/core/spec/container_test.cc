#include "core/spec/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/spec/container_script.h"

namespace tutti {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

using Words = std::vector<std::string>;

constexpr JobId kBoxed(7);
// The shell, -c, the script, its name and the verb.
constexpr std::size_t kFixed = 5;

JobSpec boxed(Command command = {{"echo", "a b"}, "", ""}) {
  JobSpec spec;
  spec.name = "demo";
  spec.user = "ann";
  spec.workdir = "/home/ann";
  spec.env = {"PATH=/bin", "SECRET=of the shell"};
  spec.command = std::move(command);
  spec.container.image = "box";
  return spec;
}

Node here(std::uint32_t devices = 0) {
  Node node;
  node.id = NodeId(1);
  node.name = "here";
  for (std::uint32_t i = 0; i < devices; ++i) {
    Device device;
    device.id = DeviceId(i);
    device.uuid = "GPU-" + std::to_string(i);
    node.devices.push_back(device);
  }
  return node;
}

AttemptId nth(std::uint32_t task, std::uint32_t number = 1) {
  return {{kBoxed, task}, number};
}

Launch boxed_launch(const JobSpec& spec, const Allocation& allocation = {}) {
  return launch_of(kBoxed, spec, nth(0), "", allocation, here(2));
}

// Words of the runtime from `option` on: it and its value.
Words pair_at(const Words& words, const std::string& option) {
  const auto at = std::find(words.begin() + kFixed, words.end(), option);
  return at == words.end() ? Words() : Words{*at, *(at + 1)};
}

// The last words: image and command.
Words tail(const Words& words, std::size_t count) {
  return {words.end() - static_cast<std::ptrdiff_t>(count), words.end()};
}

TEST(Container, without_an_image_the_command_is_executed_as_it_is) {
  JobSpec spec = boxed();
  spec.container = {};
  const Launch launch = boxed_launch(spec);
  EXPECT_THAT(launch.argv, ElementsAre("echo", "a b"));
  EXPECT_TRUE(launch.cleanup.empty());
}

TEST(Container, the_command_is_words_behind_the_image) {
  const Launch launch = boxed_launch(boxed());
  EXPECT_EQ(launch.argv[0], "/bin/sh");
  EXPECT_EQ(launch.argv[2], kContainerScript);
  EXPECT_THAT(tail(launch.argv, 5), ElementsAre("--entrypoint", "", "box", "echo", "a b"));
}

TEST(Container, nothing_that_a_user_wrote_is_in_the_text_of_the_script) {
  JobSpec spec = boxed({{"$(rm -rf /)"}, "", ""});
  spec.container.image = "'; reboot; '";
  EXPECT_EQ(boxed_launch(spec).argv[2], kContainerScript);
}

TEST(Container, a_shell_line_runs_where_there_is_no_bash) {
  const Launch launch = boxed_launch(boxed({{}, "echo a | cat", ""}));
  const Words words = tail(launch.argv, 6);
  EXPECT_EQ(words[0], "/bin/sh");
  EXPECT_THAT(words[2], ::testing::HasSubstr("exec /bin/sh"));
  EXPECT_THAT(tail(words, 2), ElementsAre("-c", "echo a | cat"));
}

TEST(Container, a_script_is_mounted_and_run_from_there) {
  const Launch launch = boxed_launch(boxed({{}, "", "#!/bin/sh\nexit"}));
  EXPECT_EQ(launch.argv.back(), kScriptInside);
  EXPECT_EQ(std::count(launch.argv.begin(), launch.argv.end(), kScriptPlaceholder), 1);
}

TEST(Container, variables_are_named_and_their_values_are_not_shown) {
  JobSpec spec = boxed();
  spec.remote_env = {"TOKEN=abc"};
  const Launch launch = boxed_launch(spec);
  EXPECT_THAT(launch.argv, Contains("TOKEN"));
  EXPECT_THAT(launch.argv, Contains("TUTTI_JOB_ID"));
  EXPECT_THAT(launch.env, Contains("TOKEN=abc"));
  EXPECT_THAT(launch.argv, Not(Contains("TOKEN=abc")));
  EXPECT_THAT(launch.argv, Not(Contains("SECRET")));
}

TEST(Container, variables_that_runtimes_act_on_reach_the_container_alone) {
  JobSpec spec = boxed();
  spec.remote_env = {"HOME=/inside", "CONTAINERS_CONF=/x"};
  const Launch launch = boxed_launch(spec);
  EXPECT_THAT(launch.argv, Contains("HOME=/inside"));
  EXPECT_THAT(launch.argv, Contains("CONTAINERS_CONF=/x"));
  EXPECT_THAT(launch.env, Not(Contains("HOME=/inside")));
}

TEST(Container, stated_limits_are_the_runtimes_and_not_the_keepers) {
  JobSpec spec = boxed();
  spec.request.cpus = MilliCpu(1500);
  spec.request.memory = MiB(64);
  EXPECT_THAT(boxed_launch(spec).argv, Not(Contains("1.5")));
  spec.request.limit_cpus = spec.request.limit_memory = true;
  EXPECT_EQ(boxed_launch(spec).argv[kFixed + 4], "1.5");
  EXPECT_EQ(boxed_launch(spec).argv[kFixed + 5], "64");
  EXPECT_EQ(context_of(kBoxed, spec).limits, Limits());
}

TEST(Container, shared_memory_is_that_of_the_ranks_group) {
  JobSpec spec = boxed();
  WorkerGroup large;
  large.shared_memory = MiB(512);
  spec.gang.workers = {WorkerGroup(), large};
  spec.tasks = {TaskSet::Shape::kArray, 2, 0, 1, 0};
  GangPlaces places(2);
  const auto of_rank = [&](std::uint32_t rank) {
    Launch launch;
    launch.argv = {"true"};
    put_in_container(launch, kBoxed, spec, nth(rank), {}, here());
    return pair_at(launch.argv, "--shm-size");
  };
  EXPECT_THAT(of_rank(0), ElementsAre());
  EXPECT_THAT(of_rank(1), ElementsAre("--shm-size", "512m"));
}

TEST(Container, granted_devices_are_named_by_uuid_and_number) {
  Allocation allocation;
  allocation.devices = {{DeviceId(0)}, {DeviceId(1)}};
  const Launch launch = boxed_launch(boxed(), allocation);
  EXPECT_EQ(launch.argv[kFixed + 6], "nvidia");
  EXPECT_EQ(launch.argv[kFixed + 7], "GPU-0,GPU-1");
  EXPECT_EQ(launch.argv[kFixed + 8], "0 1");
}

TEST(Container, mounts_are_handed_on) {
  JobSpec spec = boxed();
  spec.container.mounts = {"/data:/in:ro"};
  EXPECT_THAT(pair_at(boxed_launch(spec).argv, "--volume"),
              ElementsAre("--volume", "/data:/in:ro"));
}

TEST(Container, it_is_removed_by_its_name_which_is_the_attempts_own) {
  const JobSpec spec = boxed();
  const Launch launch = boxed_launch(spec);
  const std::string name = container_name(kBoxed, spec, nth(0));
  EXPECT_EQ(launch.argv[kFixed], name);
  EXPECT_THAT(tail(launch.cleanup, 4), ElementsAre("remove", "here", "", name));
  EXPECT_NE(name, container_name(kBoxed, spec, nth(1)));
  EXPECT_NE(name, container_name(kBoxed, spec, nth(0, 2)));
}

TEST(Container, jobs_of_another_home_have_other_names) {
  JobSpec other = boxed();
  other.env.push_back("TUTTI_HOME=/elsewhere");
  EXPECT_NE(container_name(kBoxed, boxed(), nth(0)), container_name(kBoxed, other, nth(0)));
}

TEST(Container, a_build_is_told_where_its_context_is_below_the_work_directory) {
  JobSpec spec = boxed();
  spec.container.build = {"/home/ann/app/Dockerfile", "/home/ann/app", "", {"A=1"}};
  const Launch launch = boxed_launch(spec);
  EXPECT_THAT(launch.argv, Contains("app"));
  EXPECT_THAT(launch.argv, Contains("A=1"));
}

TEST(Container, a_build_command_has_the_arguments_last) {
  Container container;
  container.image = "tutti/x:1";
  container.build = {"/c/Dockerfile", "/c", "prod", {"A=1", "B=2"}};
  EXPECT_THAT(tail(build_command(container).argv, 6),
              ElementsAre("tutti/x:1", "/c/Dockerfile", "/c", "prod", "A=1", "B=2"));
}

TEST(Container, a_dockerignore_starts_at_the_top) {
  EXPECT_EQ(as_gitignore("# note\n*.log\n!keep.log\r\n\n ./a/ \n/b\n.\n**/c"),
            "/*.log\n!/keep.log\n/a\n/b\n/**/c\n");
}

TEST(Container, a_built_image_is_named_by_its_content) {
  EXPECT_EQ(built_image_name("registry.example:5000/team/demo:latest", "ab12"), "tutti/demo:ab12");
  EXPECT_EQ(built_image_name("demo", "ab12"), "tutti/demo:ab12");
}

}  // namespace
}  // namespace tutti
