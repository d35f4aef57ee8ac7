#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "control/executor.h"
#include "control/front.h"
#include "control/node_monitor.h"
#include "exec/ssh/host.h"

namespace tutti {

// Runs attempts on machines elsewhere, over the system's ssh: docs/design/0003-ssh.md. Orders come
// from one thread; a thread of its own talks to all hosts. Its end leaves all attempts alone.
class SshExecutor final : public Executor, public NodeMonitor {
 public:
  struct Options {
    std::string home;
    std::string config;  // of ssh; empty: the user's own
  };
  static Result<std::unique_ptr<SshExecutor>> create(Options options, Clock& clock);
  ~SshExecutor() override;
  SshExecutor(const SshExecutor&) = delete;
  SshExecutor& operator=(const SshExecutor&) = delete;

  // May be called again: then everything is reported again.
  Result<void> attach(const Known& known, ReportSink& sink) override;
  void order(std::vector<Effect> effects) override;
  void journalled(std::span<const AttemptId> ended) override;

  std::optional<NodeMeasurement> latest(NodeId node) const override;
  std::vector<NodeTransfer> transfers(NodeId node) const override {
    return transfers_.under_way(node);
  }
  void measure_now(NodeId node) override;

 private:
  SshExecutor(Options options, Clock& clock, std::string sockets, std::string identity);

  // ---- any thread
  void post(std::function<void()> work);
  // ---- the thread
  void run();
  void take(const Known& known);
  void watch(const Node& node);
  void carry_out(StartAttempt& order);
  void carry_out(const StopAttempt& order);
  void carry_out(const RecallAttempt& /*order*/) {}
  void carry_out(const WarnAttempt& /*order*/) {}
  void carry_out(const WatchNode& order) { watch(order.node); }
  void carry_out(const ForgetNode& order);
  void carry_out(const ReleaseAttempt& order);
  void refuse(AttemptId attempt, NodeId node);
  Host* host(NodeId node);
  void publish(const Host& host);
  TimePoint tick_all();
  void poll_all(TimePoint due);
  void report_all();

  const Options options_;
  Clock& clock_;
  const std::string sockets_;   // folder
  const std::string identity_;  // of this daemon's home, among all that use a host
  UniqueFd wake_;
  ReportSink* sink_ = nullptr;

  mutable std::mutex mutex_;  // guards what follows up to the thread
  std::vector<std::function<void()>> inbox_;
  std::map<NodeId, NodeMeasurement> measured_;
  bool stop_ = false;

  Transfers transfers_;
  std::map<NodeId, std::unique_ptr<Host>> hosts_;
  std::vector<Report> reports_;
  std::vector<pollfd> polled_;
  std::thread thread_;
};

}  // namespace tutti
