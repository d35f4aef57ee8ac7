#include "telemetry/gpu_watcher.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>

namespace tutti {
namespace {

constexpr NodeId kNode{1};

class RealClock : public Clock {
 public:
  TimePoint now() override {
    return TimePoint(std::chrono::duration_cast<std::chrono::microseconds>(
                         std::chrono::steady_clock::now().time_since_epoch())
                         .count());
  }
};

// GPUs of which a test says what they do. Safe from any thread.
struct World {
  std::mutex mutex;
  std::vector<GpuReading> gpus;
  std::string trouble;
};

class FakeSource : public GpuSource {
 public:
  explicit FakeSource(World& world) : world_(world) {}
  const char* name() const override { return "nvml"; }
  Result<std::vector<GpuReading>> read() override {
    const std::lock_guard lock(world_.mutex);
    if (!world_.trouble.empty()) return Error{ErrorCode::kUnavailable, world_.trouble};
    return world_.gpus;
  }

 private:
  World& world_;
};

// Takes orders and reports what the test wants.
class FakeExecutor : public Executor {
 public:
  Result<void> attach(const Known& /*known*/, ReportSink& sink) override {
    sink_ = &sink;
    Node node;
    node.id = kNode;
    node.name = "box";
    sink.report({NodeChanged{node}});
    return {};
  }
  void order(std::vector<Effect> effects) override {
    for (const Effect& effect : effects) {
      warnings += std::holds_alternative<WarnAttempt>(effect);
      starts += std::holds_alternative<StartAttempt>(effect);
    }
  }
  void journalled(std::span<const AttemptId> /*ended*/) override {}
  void say(Report report) { sink_->report({std::move(report)}); }

  std::atomic<int> warnings{0};
  std::atomic<int> starts{0};

 private:
  ReportSink* sink_ = nullptr;
};

class Collector : public ReportSink {
 public:
  void report(std::vector<Report> reports) override {
    const std::lock_guard lock(mutex_);
    std::move(reports.begin(), reports.end(), std::back_inserter(reports_));
  }
  // The first report of a type for which `wanted` holds; waits for it.
  template <typename T>
  std::optional<T> wait_for(const std::function<bool(const T&)>& wanted) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline) {
      if (auto found = find(wanted)) return found;
      std::this_thread::yield();
    }
    return std::nullopt;
  }
  template <typename T>
  std::optional<T> find(const std::function<bool(const T&)>& wanted) {
    const std::lock_guard lock(mutex_);
    for (const Report& report : reports_) {
      const auto* one = std::get_if<T>(&report);
      if (one != nullptr && wanted(*one)) return *one;
    }
    return std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::vector<Report> reports_;
};

class GpuWatcherTest : public testing::Test {
 protected:
  GpuWatcherTest() {
    for (int i = 0; i < 2; ++i) {
      GpuReading gpu;
      gpu.uuid = "GPU-" + std::to_string(i);
      gpu.type = "A100-80G";
      gpu.memory = MiB(80000);
      world.gpus.push_back(gpu);
    }
    FoundGpus found;
    found.sources.push_back(std::make_unique<FakeSource>(world));
    watcher = std::make_unique<GpuWatcher>(executor, clock, std::move(found),
                                           GpuWatcher::Options{.node = kNode, .emulation = ""});
    EXPECT_TRUE(watcher->attach({}, reports));
  }

  // This process stands for the attempt.
  void start(MiB granted) {
    StartAttempt order;
    order.attempt = kAttempt;
    order.allocation = {kNode, {}, {}, {{DeviceId(0), granted, MilliGpu(500)}}};
    order.devices = {{.id = DeviceId(0)}};
    order.context = std::make_shared<LaunchContext>();
    watcher->order({order});
    executor.say(AttemptStarted{kAttempt, clock.now(), getpid()});
  }
  void use(MiB memory, std::int64_t pid = getpid()) {
    const std::lock_guard lock(world.mutex);
    world.gpus[0].processes.clear();
    if (memory.value > 0) world.gpus[0].processes.push_back({pid, memory, MilliGpu(300)});
  }
  void end() { executor.say(AttemptEnded{kAttempt, clock.now(), clock.now(), {}, true}); }
  // Waits for it: the watcher's thread may just be about to tell what it has read before.
  bool seen(MiB memory) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < deadline) {
      const GpuReport report = watcher->read_now();
      const auto& used = report.devices.at(0).used_by;
      if (used.contains(kAttempt) && used.at(kAttempt) == memory) return true;
    }
    return false;
  }
  static bool any_end(const AttemptEnded& /*ended*/) { return true; }

  static constexpr AttemptId kAttempt{{JobId(7), 0}, 1};
  RealClock clock;
  World world;
  FakeExecutor executor;
  Collector reports;
  std::unique_ptr<GpuWatcher> watcher;
};

TEST_F(GpuWatcherTest, the_node_has_the_devices_that_the_driver_tells) {
  const auto node = reports.wait_for<NodeChanged>(
      [](const NodeChanged& one) { return one.node.devices.size() == 2; });
  ASSERT_TRUE(node);
  EXPECT_EQ(node->node.devices[1].uuid, "GPU-1");
  EXPECT_EQ(node->node.name, "box");
}

TEST_F(GpuWatcherTest, an_end_waits_until_the_driver_says_that_the_device_is_free) {
  start(MiB(10000));
  use(MiB(9000));
  ASSERT_TRUE(seen(MiB(9000)));
  end();
  watcher->read_now();
  EXPECT_FALSE(reports.find<AttemptEnded>(any_end)) << "its memory is still there";
  use(MiB(0));
  const auto ended = reports.wait_for<AttemptEnded>(any_end);
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->outcome.device_measured);
  EXPECT_EQ(ended->outcome.device_memory, MiB(9000));
  EXPECT_EQ(ended->outcome.device_share, MilliGpu(300));
}

TEST_F(GpuWatcherTest, who_uses_more_than_granted_is_reported_once_for_each_step) {
  start(MiB(10000));
  use(MiB(12000));
  ASSERT_TRUE(seen(MiB(12000)));
  ASSERT_TRUE(reports.wait_for<AttemptMeasured>(
      [](const AttemptMeasured& one) { return one.memory == MiB(12000); }));
  use(MiB(12050));
  ASSERT_TRUE(seen(MiB(12050)));
  EXPECT_FALSE(reports.find<AttemptMeasured>([](const AttemptMeasured& one) {
    return one.memory > MiB(12000);
  })) << "noise is not worth an event";
}

TEST_F(GpuWatcherTest, preallocation_is_said_once_and_in_the_outcome) {
  start(MiB(80000));
  use(MiB(60000));
  ASSERT_TRUE(seen(MiB(60000)));
  watcher->read_now();
  EXPECT_EQ(executor.warnings, 1);
  use(MiB(0));
  end();
  const auto ended = reports.wait_for<AttemptEnded>(any_end);
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->outcome.preallocates);
  EXPECT_NE(ended->outcome.message.find("XLA_PYTHON_CLIENT_PREALLOCATE=false"), std::string::npos);
}

TEST_F(GpuWatcherTest, others_count_as_foreign_in_steps) {
  use(MiB(5000), 1);
  const GpuReport report = watcher->read_now();
  ASSERT_EQ(report.devices.at(0).foreign.size(), 1u);
  EXPECT_EQ(report.devices[0].foreign[0].pid, 1);
  EXPECT_TRUE(reports.find<NodeChanged>([](const NodeChanged& one) {
    return one.node.devices.size() == 2 && one.node.devices[0].foreign == MiB(5000);
  }));
}

TEST_F(GpuWatcherTest, while_somebody_waits_others_are_looked_at) {
  watcher->await_devices(true);
  use(MiB(5000), 1);
  EXPECT_TRUE(reports.wait_for<NodeChanged>([](const NodeChanged& one) {
    return one.node.devices.size() == 2 && one.node.devices[0].foreign == MiB(5000);
  }));
}

TEST_F(GpuWatcherTest, a_start_on_a_device_that_others_took_meanwhile_is_taken_back) {
  use(MiB(70000), 1);
  start(MiB(20000));
  const auto ended = reports.wait_for<AttemptEnded>(any_end);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->outcome.ending, Ending::kRecalled);
  EXPECT_TRUE(reports.find<NodeChanged>([](const NodeChanged& one) {
    return one.node.devices.size() == 2 && one.node.devices[0].foreign == MiB(70000);
  }));
  EXPECT_EQ(executor.starts, 0);
}

TEST_F(GpuWatcherTest, a_device_that_vanishes_and_a_driver_that_fails_are_told_apart) {
  {
    const std::lock_guard lock(world.mutex);
    world.gpus.pop_back();
  }
  watcher->read_now();
  const auto gone = reports.find<NodeChanged>([](const NodeChanged& one) {
    return one.node.devices.size() == 2 && !one.node.devices[1].healthy;
  });
  ASSERT_TRUE(gone);
  EXPECT_NE(gone->node.devices[1].trouble.find("vanished"), std::string::npos);
  {
    const std::lock_guard lock(world.mutex);
    world.trouble = "no answer";
  }
  EXPECT_EQ(watcher->read_now().trouble, "no answer");
  EXPECT_TRUE(reports.find<NodeChanged>([](const NodeChanged& one) {
    return one.node.devices.size() == 2 && !one.node.devices[0].healthy;
  }));
  {
    const std::lock_guard lock(world.mutex);
    world.trouble.clear();
  }
  EXPECT_EQ(watcher->read_now().trouble, "");
}

}  // namespace
}  // namespace tutti
