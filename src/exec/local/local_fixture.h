#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "exec/keeper/processes.h"
#include "exec/local/local_executor.h"
#include "exec/local/sweep.h"
#include "exec/testing/eventually.h"

namespace tutti {

// Remembers what an executor reports. Any thread.
class Recorder final : public ReportSink {
 public:
  void report(std::vector<Report> reports) override {
    const std::lock_guard lock(mutex_);
    for (Report& report : reports) {
      if (auto* started = std::get_if<AttemptStarted>(&report)) {
        started_[started->attempt] = *started;
        start_order_.push_back(started->attempt);
      } else if (auto* ended = std::get_if<AttemptEnded>(&report)) {
        ends_[ended->attempt].push_back(*ended);
      } else if (auto* inventory = std::get_if<Inventory>(&report)) {
        inventories_.push_back(*inventory);
      } else if (auto* node = std::get_if<NodeChanged>(&report)) {
        nodes_.push_back(node->node);
      }
    }
    changed_.notify_all();
  }

  AttemptEnded await_end(AttemptId id) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, kPatience, [&] { return ends_.contains(id); });
    EXPECT_TRUE(came) << "no end of task " << id.task.index;
    return came ? ends_[id].front() : AttemptEnded{};
  }
  AttemptStarted await_start(AttemptId id) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, kPatience, [&] { return started_.contains(id); });
    EXPECT_TRUE(came) << "no start of task " << id.task.index;
    return came ? started_[id] : AttemptStarted{};
  }
  std::size_t ends_of(AttemptId id) {
    const std::lock_guard lock(mutex_);
    return ends_[id].size();
  }
  std::vector<AttemptId> start_order() {
    const std::lock_guard lock(mutex_);
    return start_order_;
  }
  Inventory last_inventory() {
    const std::lock_guard lock(mutex_);
    return inventories_.empty() ? Inventory{} : inventories_.back();
  }
  std::vector<Node> nodes() {
    const std::lock_guard lock(mutex_);
    return nodes_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<AttemptId, AttemptStarted> started_;
  std::map<AttemptId, std::vector<AttemptEnded>> ends_;
  std::vector<AttemptId> start_order_;
  std::vector<Inventory> inventories_;
  std::vector<Node> nodes_;
};

// A home in a temporary folder, with an executor whose keeper is a real process. At the end nothing
// of it is left.
class LocalFixture : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/tutti-exec.XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    home_ = std::filesystem::canonical(folder).string();
    attach();
  }

  void TearDown() override {
    executor_.reset();
    if (const Result<KeeperRecord> record = read_keeper_record(home_)) sweep(*record, {});
    // The executor may have been starting a keeper just now, which makes its folder when it comes.
    EXPECT_TRUE(eventually([&] {
      std::error_code failed;
      const bool quiet = kill_keepers();
      std::filesystem::remove_all(home_, failed);
      return quiet && !std::filesystem::exists(home_);
    }));
  }

  // Ends every keeper of this home; true if there was none.
  bool kill_keepers() {
    bool none = true;
    for_each_process([&](pid_t pid) {
      std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
      std::stringstream text;
      text << file.rdbuf();
      if (text.str().find(std::string("keeper\0--home\0", 14) + home_) == std::string::npos) return;
      if (is_dead(pid)) return;
      none = false;
      kill(pid, SIGKILL);
    });
    return none;
  }

  void attach() {
    sink_ = std::make_unique<Recorder>();
    LocalOptions options;
    options.home = home_;
    options.slots = MilliCpu(2000);
    options.memory = MiB(1024);
    auto made = LocalExecutor::create(options);
    ASSERT_TRUE(made) << made.error().message;
    executor_ = std::move(*made);
    const Result<void> attached = executor_->attach({}, *sink_);
    ASSERT_TRUE(attached) << attached.error().message;
  }

  // As if the daemon was killed.
  void detach() { executor_.reset(); }

  static AttemptId task(std::uint32_t index) { return {{JobId(1), index}, 1}; }

  std::shared_ptr<LaunchContext> context() {
    auto shared = std::make_shared<LaunchContext>();
    shared->job = JobId(1);
    shared->workdir = home_;
    shared->env = {"PATH=/usr/bin:/bin", "COLOUR=red"};
    shared->grace = milliseconds(200);
    return shared;
  }

  StartAttempt start_order(std::uint32_t index, std::vector<std::string> argv,
                           std::shared_ptr<const LaunchContext> shared = nullptr) {
    StartAttempt order;
    order.attempt = task(index);
    order.lane = LaneId(100 + index);
    order.context = shared ? shared : context();
    order.launch.argv = std::move(argv);
    order.launch.stdout_path = "1/" + std::to_string(index) + ".out";
    order.launch.stderr_path = "1/" + std::to_string(index) + ".err";
    return order;
  }

  StartAttempt shell_order(std::uint32_t index, const std::string& text,
                           std::shared_ptr<const LaunchContext> shared = nullptr) {
    return start_order(index, {"/bin/bash", "-c", text}, std::move(shared));
  }

  void give(StartAttempt order) {
    std::vector<Effect> effects;
    effects.emplace_back(std::move(order));
    executor_->order(std::move(effects));
  }

  AttemptEnded run(StartAttempt order) {
    const AttemptId id = order.attempt;
    give(std::move(order));
    return sink_->await_end(id);
  }

  std::string content(const std::string& path) {
    std::ifstream file(home_ + "/" + path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  // The number that a test's job has written to a file, once it is there.
  pid_t await_pid(const std::string& path) {
    EXPECT_TRUE(eventually([&] { return content(path).ends_with('\n'); })) << path;
    return static_cast<pid_t>(atoi(content(path).c_str()));
  }

  std::string home_;
  std::unique_ptr<Recorder> sink_;
  std::unique_ptr<LocalExecutor> executor_;
};

}  // namespace tutti
