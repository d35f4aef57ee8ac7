#pragma once

// For tests only: seeded random records with every field in use and bytes that are no UTF-8, and a
// temporary folder.

#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "control/store.h"

namespace tutti {

// A folder that goes with its test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "tutti-store-XXXXXX";
    TUTTI_CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ / name; }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Makes records from a seed; the same seed makes the same records.
class RandomRecords {
 public:
  explicit RandomRecords(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  bool coin() { return below(2) == 1; }
  // Small and huge numbers alike.
  std::uint64_t wide() { return random_() >> below(64); }
  std::int64_t whole() { return static_cast<std::int64_t>(wide()); }
  std::uint32_t narrow() { return static_cast<std::uint32_t>(random_() >> (32 + below(32))); }
  std::int32_t integer() { return static_cast<std::int32_t>(narrow()); }
  TimePoint time() { return TimePoint(static_cast<std::int64_t>(random_() >> 8)); }

  std::string bytes(std::size_t most = 12) {
    std::string text(below(most + 1), '\0');
    for (char& c : text) c = static_cast<char>(random_());
    return text;
  }
  template <typename Make>
  auto several(Make make, std::size_t most = 3) {
    std::vector<decltype(make())> items(below(most + 1));
    for (auto& item : items) item = make();
    return items;
  }
  std::vector<std::string> texts() {
    return several([this] { return bytes(); });
  }
  template <typename Enum>
  Enum choice(Enum last) {
    return static_cast<Enum>(below(static_cast<std::uint64_t>(last) + 1));
  }

  TaskSet task_set() {
    return {choice(TaskSet::Shape::kGang), narrow(), whole(), whole(), narrow()};
  }
  Request request() {
    Request made;
    made.cpus = MilliCpu(whole());
    made.memory = MiB(whole());
    if (coin())
      made.devices = {narrow(),
                      bytes(),
                      MiB(whole()),
                      MilliGpu(whole()),
                      choice(Sharing::kNever),
                      choice(Packing::kSpread)};
    if (coin()) made.labels = texts();
    made.limit_cpus = coin();
    made.limit_memory = coin();
    made.ports = narrow() % 3;
    if (coin()) made.configurations = several([this] { return Configuration{bytes(), narrow()}; });
    return made;
  }
  Command command() { return {texts(), bytes(), bytes()}; }
  RankGroup ranks() {
    return {narrow(),
            narrow(),
            request(),
            {choice(FailureRule::Kind::kMinSucceeded), narrow()},
            coin()};
  }
  Gang gang() {
    return {choice(kLastFramework), several([this] {
              return WorkerGroup{bytes(),           ranks(),      command(), texts(),
                                 Duration(whole()), MiB(whole()), narrow()};
            }),
            Duration(whole())};
  }
  Container container() {
    return {bytes(), bytes(), {bytes(), bytes(), bytes(), texts()}, texts()};
  }
  std::vector<Dependency> dependencies(std::uint64_t below_job) {
    return several([&] {
      return Dependency{JobId(1 + below(below_job)), choice(Dependency::When::kFailure)};
    });
  }
  JobSpec spec(std::uint64_t below_job = 1000) {
    JobSpec made;
    made.name = bytes();
    made.user = bytes();
    made.project = bytes();
    made.kind = bytes();
    made.command = command();
    made.lines = several([this] { return bytes(300); }, 600);
    made.line_numbers = several([this] { return narrow() % 50; }, 20);
    made.tasks = task_set();
    made.request = request();
    if (coin()) made.node_limits = several([this] { return NodeLimit{bytes(), narrow()}; });
    made.priority = integer();
    made.time_limit = Duration(whole());
    made.grace = Duration(whole());
    made.retry = {narrow(), Duration(whole())};
    if (coin()) made.after = dependencies(below_job);
    made.workdir = bytes(40);
    made.env = texts();
    made.stdout_pattern = bytes();
    made.stderr_pattern = bytes();
    made.snapshot = bytes();
    made.lease = coin();
    made.holder_pid = whole();
    made.holder_birth = whole();
    made.remote_env = texts();
    made.results = {bytes(), texts()};
    if (coin()) made.gang = gang();
    if (coin()) made.model = {bytes(), wide(), wide()};
    if (coin()) made.container = container();
    return made;
  }
  Outcome outcome() {
    return {
        choice(kLastEnding), integer(),         integer(), Duration(whole()), MiB(whole()), coin(),
        MiB(whole()),        MilliGpu(whole()), coin(),    bytes(30)};
  }
  std::vector<DeviceGrant> devices() {
    return several([this] {
      return DeviceGrant{DeviceId(narrow()), MiB(whole()), MilliGpu(whole())};
    });
  }
  TaskRow task_row(TaskId task) {
    return {.task = task,
            .state = choice(TaskState::kSkipped),
            .attempts = narrow(),
            .retries_used = narrow(),
            .oom_retries = narrow(),
            .not_before = time(),
            .node = NodeId(narrow()),
            .lane = LaneId(wide() >> 2),
            .staged = coin(),
            .devices = devices(),
            .measuring = coin(),
            .ports = several([this] { return narrow(); }),
            .placed_at = time(),
            .started_at = time(),
            .ended_at = time(),
            .pid = whole(),
            .pid_birth = whole(),
            .stop_cause = choice(kLastEnding),
            .outcome = outcome()};
  }
  TaskCounts counts() {
    TaskCounts made;
    for (std::uint32_t& count : made.by_state) count = narrow();
    return made;
  }
  JobRow job_row(JobId id) {
    return {id,
            choice(TaskState::kSkipped),
            choice(TaskState::kSkipped),
            counts(),
            time(),
            time(),
            time(),
            integer()};
  }
  Node node() {
    Node made;
    made.id = NodeId(narrow());
    made.name = bytes();
    made.state = choice(Node::State::kGone);
    made.state_reason = bytes();
    made.cpus = made.free_cpus = MilliCpu(whole());
    made.memory = made.free_memory = MiB(whole());
    made.devices = several([this] {
      return Device{.id = DeviceId(narrow()),
                    .type = bytes(),
                    .uuid = bytes(),
                    .memory = MiB(whole()),
                    .reserved_memory = {},
                    .reserved_share = {},
                    .holders = 0,
                    .healthy = coin(),
                    .trouble = bytes(),
                    .name = bytes(),
                    .amd = coin(),
                    .emulation = bytes(),
                    .foreign = MiB(whole())};
    });
    made.labels = texts();
    made.keeps_backlog = coin();
    made.remote = {bytes(), bytes(), bytes(), Duration(whole())};
    made.max_jobs = narrow();
    made.foreign_cpus = MilliCpu(whole());
    made.foreign_memory = MiB(whole());
    made.address = bytes();
    made.port_range = {narrow(), narrow()};
    return made;
  }
  Profile profile() {
    Profile made;
    for (auto n = below(40); n > 0; --n)
      made.add(Duration(static_cast<std::int64_t>(wide() >> 20)), MiB(narrow()));
    for (auto n = below(20); n > 0; --n)
      made.add_device(coin() ? "A100-80G" : "T4-16G", MiB(narrow()), MilliGpu(500), coin());
    if (coin()) made.raise_device("T4-16G", MiB(narrow()));
    for (auto n = below(5); n > 0; --n)
      made.add_time(coin() ? "A100-80G" : "T4-16G", narrow() % 8, Duration(narrow()));
    return made;
  }
  SpeedChange speed_change() {
    return {{{coin() ? "bert" : "moe", 1 + wide() % 1'000'000, 1 + wide() % 4},
             {coin() ? "a100" : "V100", 1 + narrow() % 3, 1 + narrow() % 3},
             narrow() % 3},
            coin() ? std::optional(Speed{static_cast<double>(narrow()) / 7}) : std::nullopt};
  }
  AttemptId attempt() { return {{JobId(wide()), narrow()}, narrow()}; }
  EventBody body(std::size_t kind) {
    switch (kind) {
      case 0:
        return JobSubmitted{facts_of(JobId(wide()), spec())};
      case 1:
        return CancelRequested{JobId(wide()), several([this] { return narrow(); }, 20)};
      case 2:
        return RetryRequested{JobId(wide()), several([this] { return narrow(); }, 20)};
      case 3:
        return AttemptPlaced{attempt(),
                             LaneId(wide() >> 2),
                             coin(),
                             {NodeId(narrow()), MilliCpu(whole()), MiB(whole()), devices(), coin(),
                              several([this] { return narrow(); })}};
      case 4:
        return AttemptStarted{attempt(), time(), whole(), whole()};
      case 5:
        return StopOrdered{attempt(), choice(kLastEnding)};
      case 6:
        return AttemptEnded{attempt(), time(), time(), outcome(), coin()};
      case 7:
        return NodeChanged{node()};
      case 8:
        return AttemptMeasured{attempt(), DeviceId(narrow()), MiB(whole())};
      case 9:
        return ProfileChanged{bytes(), coin() ? std::optional(profile()) : std::nullopt};
      case 10:
        return SpeedsChanged{several([this] { return speed_change(); })};
      default:
        return NodeStateChanged{NodeId(narrow()), choice(Node::State::kDown), bytes()};
    }
  }
  Event event() { return {time(), body(below(std::variant_size_v<EventBody>))}; }

 private:
  std::mt19937_64 random_;
};

}  // namespace tutti
