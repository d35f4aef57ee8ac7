#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/controller.h"
#include "sim/memory_store.h"
#include "sim/sim_executor.h"
#include "sim/virtual_clock.h"

namespace tutti {

// The real controller on a virtual clock, a store in memory and an executor that only counts time.
// A day of work passes in milliseconds, and the same input gives the same run. One thread.
class Simulation {
 public:
  // `elastic` makes the rules of each controller for elastic jobs; without it there are none.
  explicit Simulation(SimExecutor::Behaviour behaviour = {},
                      std::function<ElasticRules()> elastic = {});
  ~Simulation();

  // Commands: each is carried out at once, at the present virtual time.
  Result<JobId> submit(JobSpec spec);
  Result<Submitted> submit(std::vector<JobSpec> specs, bool dry_run);
  Result<Changed> cancel(JobId job, std::vector<std::uint32_t> tasks = {});
  Result<Changed> retry(JobId job, std::vector<std::uint32_t> tasks = {});
  Result<Explanation> explain(JobId job, std::uint32_t task = Front::kAnyTask);
  Result<Changed> set_speeds(std::vector<SpeedChange> changes);
  Result<Node> set_node_state(const std::string& node, Node::State state, std::string reason = {});
  Result<Node> set_node_limit(const std::string& node, std::uint32_t max_jobs);
  void add_node(Node node);

  // Lets time pass: everything that is due within it happens.
  void advance(Duration duration);
  // Lets time pass until nothing is due any more, at most this long. False: something still is.
  bool run_until_idle(Duration at_most = seconds(1000LL * 86400));
  // Forgets the controller and starts another one on what the store remembers.
  void restart_controller();
  void kill_executor();
  void cut_off_executor() { executor_.go_away(); }
  void reconnect_executor();

  TimePoint now() { return clock_.now(); }
  Duration elapsed() const { return clock_.elapsed(); }
  const Ledger& ledger() const { return controller_->ledger(); }
  Controller& controller() { return *controller_; }
  MemoryStore& store() { return store_; }
  SimExecutor& executor() { return executor_; }
  // The state of a job, finished or not.
  TaskState state_of(JobId job);

 private:
  struct Silence : Publisher {
    void published(const Round&) override {}
  };
  // Steps until nothing more happens at this very moment.
  void settle();
  TimePoint next_due() const;
  // Calls a command and waits for its reply.
  template <typename T, typename Call>
  Result<T> ask(Call call);

  VirtualClock clock_;
  MemoryStore store_;
  SimExecutor executor_;
  Silence publisher_;
  std::function<ElasticRules()> elastic_;
  std::unique_ptr<Controller> controller_;
  TimePoint due_;
};

}  // namespace tutti
