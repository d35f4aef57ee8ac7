// Fails when the stored format changes without its version and its document.

#include <gtest/gtest.h>
#include <openssl/sha.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/event_codec.h"
#include "store/record_codec.h"
#include "store/schema.h"

namespace tutti {
namespace {

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15u];
  }
  return text;
}

std::string document() {
  const auto root = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  std::ostringstream text;
  text << std::ifstream(root / "docs/formats/journal.md").rdbuf();
  return text.str();
}

JobSpec sample_spec() {
  JobSpec spec;
  spec.name = "name";
  spec.user = "ann";
  spec.project = "speech";
  spec.kind = "train";
  spec.command = {{"python", "train.py"}, "shell", "script"};
  spec.line_numbers = {1, 2, 3, 7};
  spec.tasks = {TaskSet::Shape::kArray, 100, 1, 2, 4};
  spec.request.cpus = MilliCpu(2000);
  spec.request.memory = MiB(512);
  spec.request.devices = {
      2, "A100-80G", MiB(20480), MilliGpu(500), Sharing::kNever, Packing::kSpread};
  spec.request.labels = {"fast"};
  spec.request.configurations = {{"A100-80G", 2}, {"V100", 8}};
  spec.model = {"bert", 1300000000, 256};
  spec.request.limit_memory = true;
  spec.node_limits = {{"box", 2}};
  spec.priority = -5;
  spec.time_limit = seconds(60);
  spec.retry = {3, seconds(2)};
  spec.after = {{JobId(16), Dependency::When::kAny}};
  spec.workdir = "/home/ann";
  spec.stdout_pattern = "%j.out";
  spec.stderr_pattern = "%j.err";
  spec.snapshot = "5e1f";
  spec.lease = true;
  spec.holder_pid = 99;
  spec.holder_birth = 12345;
  spec.remote_env = {"SEED=1"};
  spec.results = {"/home/ann/results/%t", {"out", "."}};
  spec.request.ports = 2;
  WorkerGroup workers{.name = "Worker",
                      .ranks = {4, 2, spec.request, {FailureRule::Kind::kRestart, 3}},
                      .command = {{"python", "worker.py"}, "", ""},
                      .env = {"A=1"},
                      .time_limit = seconds(30),
                      .shared_memory = MiB(64),
                      .replica = 1,
                      .cpu_limit = MilliCpu(4000)};
  spec.gang = {Framework::kPytorch, {workers}, seconds(90)};
  spec.container = {"image", "podman", {"/d/Dockerfile", "/d", "base", {"V=1"}}, {"/a:/b:ro"}};
  return spec;
}

Outcome sample_outcome() {
  return {
      Ending::kTimeout,  3, 15, milliseconds(1500), MiB(64), true, MiB(9000), MilliGpu(410), true,
      "time limit of 1m"};
}

Node sample_node() {
  Node node;
  node.id = NodeId(1);
  node.name = "box";
  node.state = Node::State::kDraining;
  node.state_reason = "update";
  node.cpus = node.free_cpus = MilliCpu(8000);
  node.memory = node.free_memory = MiB(64000);
  node.devices.push_back({.id = DeviceId(0),
                          .type = "A100-80G",
                          .uuid = "GPU-1",
                          .memory = MiB(81920),
                          .healthy = false,
                          .trouble = "3 ECC errors",
                          .name = "NVIDIA A100",
                          .emulation = "/run/gpus",
                          .foreign = MiB(700)});
  node.labels = {"fast", "ssd"};
  node.keeps_backlog = true;
  node.remote = {"ann@box:22", "/home/ann/.ssh/key", "0,2", seconds(90)};
  node.max_jobs = 4;
  node.foreign_cpus = MilliCpu(1500);
  node.foreign_memory = MiB(2048);
  node.address = "10.0.0.7";
  node.port_range = {21000, 21999};
  return node;
}

Profile sample_profile() {
  Profile profile;
  profile.add(seconds(3), MiB(100));
  profile.add_device("A100-80G", MiB(9000), MilliGpu(410), true);
  profile.raise_device("A100-80G", MiB(9500));
  profile.add_time("A100-80G", 2, seconds(3));
  return profile;
}

// One of each kind, in the order of EventBody, with a different value in every field.
std::vector<Event> sample_events() {
  const AttemptId attempt{{JobId(17), 300}, 2};
  const TimePoint at(1700000000000000);
  const Allocation allocation{
      NodeId(1),
      MilliCpu(2000),
      MiB(512),
      {{DeviceId(0), MiB(9600), MilliGpu(400)}, {DeviceId(3), MiB(81920), MilliGpu(1000)}},
      true,
      {20000, 20001}};
  return {
      {at, JobSubmitted{facts_of(JobId(17), sample_spec())}},
      {at, CancelRequested{JobId(17), {1, 200}}},
      {at, RetryRequested{JobId(17), {}}},
      {at, AttemptPlaced{attempt, LaneId(9), true, allocation}},
      {at, AttemptStarted{attempt, at + seconds(1), 4711, 12345}},
      {at, StopOrdered{attempt, Ending::kTimeout}},
      {at, AttemptEnded{attempt, at + seconds(1), at + seconds(2), sample_outcome(), true}},
      {at, NodeChanged{sample_node()}},
      {at, NodeStateChanged{NodeId(1), Node::State::kDown, "gone"}},
      {at, AttemptMeasured{attempt, DeviceId(3), MiB(12000)}},
      {at, ProfileChanged{"train", sample_profile()}},
      {at, SpeedsChanged{{{{{"bert", 1300000000, 256}, {"a100", 1, 4}}, Speed{5.5}},
                          {{{"moe", 690000000, 512}, {"v100", 2, 8}, 4}, std::nullopt}}}},
  };
}

TaskRow sample_task() {
  return {.task = {},
          .state = TaskState::kFailed,
          .attempts = 2,
          .retries_used = 1,
          .oom_retries = 3,
          .not_before = TimePoint(5),
          .node = NodeId(1),
          .lane = LaneId(9),
          .staged = true,
          .devices = {{DeviceId(3), MiB(9600), MilliGpu(400)}},
          .measuring = true,
          .placed_at = TimePoint(6),
          .started_at = TimePoint(7),
          .ended_at = TimePoint(8),
          .pid = 4711,
          .pid_birth = 12345,
          .stop_cause = Ending::kTimeout,
          .outcome = sample_outcome()};
}

// Everything whose bytes are the format: the tables and one sample of each record.
std::string fingerprint() {
  std::string all = kSchemaSql;
  std::string bytes;
  const auto add = [&](auto encode_it, const auto& record) {
    encode_it(record, bytes);
    all += "\n" + hex(bytes);
  };
  const JobSpec spec = sample_spec();
  TaskCounts counts;
  for (std::size_t i = 0; i < kTaskStates; ++i) counts.by_state[i] = static_cast<std::uint32_t>(i);
  const Profile profile = sample_profile();
  for (const Event& event : sample_events()) add(encode, event);
  add(encode_spec, spec);
  add(encode_rare_facts, facts_of(JobId(17), spec));
  add(encode_dependencies, spec.after);
  add(encode_texts, spec.command.argv);
  add(encode_task, sample_task());
  add(encode_node, sample_node());
  add(encode_counts, counts);
  add(encode_profile, profile);
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(all.data()), all.size(), digest);
  return hex({reinterpret_cast<const char*>(digest), sizeof digest});
}

TEST(Format, the_document_has_the_fingerprint_of_this_version) {
  const std::string row = "| " + std::to_string(kFormatVersion) + " | `" + fingerprint() + "` |";
  EXPECT_NE(document().find(row), std::string::npos)
      << "The stored format changed. Raise kFormatVersion, add a migration, describe the change in "
         "docs/formats/, and add this row to the table of versions in journal.md:\n"
      << row;
}

TEST(Format, the_document_ends_with_this_version) {
  const std::string text = document();
  const std::string next = "\n| " + std::to_string(kFormatVersion + 1) + " | `";
  constexpr std::size_t kDigits = 64;
  for (auto at = text.find(next); at != std::string::npos; at = text.find(next, at + 1))
    EXPECT_NE(text.substr(at + next.size() + kDigits, 3), "` |")
        << "journal.md has a version that the program does not know";
}

TEST(Format, the_document_has_a_sample_of_every_event) {
  const std::string text = document();
  for (const Event& event : sample_events()) {
    std::string buffer;
    const EncodedEvent encoded = encode(event, buffer);
    const std::string row = "| " + std::to_string(encoded.kind) + " | `" + event_name(event.body) +
                            "` | `" + hex(encoded.body) + "` |";
    EXPECT_NE(text.find(row), std::string::npos) << "not in docs/formats/journal.md:\n" << row;
    const auto decoded = decode(encoded);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, event);
  }
}

}  // namespace
}  // namespace tutti
