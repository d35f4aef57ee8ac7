#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sim/simulation.h"
#include "tests/support/ledger_checks.h"
#include "tests/support/world.h"

namespace tutti::testing_support {

// How many lives are lived for a property; TUTTI_LIVES multiplies them for a night's run.
// Sanitizers look for other faults, which few lives show as well.
inline std::uint32_t lives(std::uint32_t usual) {
#ifdef TUTTI_SANITIZED
  usual /= 8;
#endif
  const char* factor = std::getenv("TUTTI_LIVES");
  return usual * static_cast<std::uint32_t>(factor == nullptr ? 1 : std::max(1, std::atoi(factor)));
}

// What a RandomLife may do to its cluster.
struct Hardships {
  bool restarts = false;
  bool lost_executors = false;
  bool full_disks = false;
  bool drains = false;
  bool cancels = true;
  bool devices = true;
  int gangs = 15;  // so many of a hundred jobs
  bool node_limits = true;
  bool configurations = true;
};

// A random cluster with random work: everything follows from the seed.
class RandomLife {
 public:
  RandomLife(std::uint32_t seed, Hardships hardships)
      : random_(seed), limits_(seed), choices_(seed), hardships_(hardships) {
    simulation.executor().set_report_delay(milliseconds(pick(0, 4) == 0 ? pick(1, 20) : 0));
    const std::int64_t nodes = pick(1, 4);
    for (std::int64_t i = 0; i < nodes; ++i) {
      Node one = node("n" + std::to_string(i), pick(2, 8), 1024 * pick(2, 8));
      if (hardships_.devices && chance(40))
        one = with_gpus(std::move(one), static_cast<std::uint32_t>(pick(1, 4)), 16384);
      if (hardships_.configurations)
        for (Device& device : one.devices) device.type = choices_() % 2 == 0 ? "A" : "B";
      one.keeps_backlog = chance(60);
      simulation.add_node(std::move(one));
    }
    simulation.advance(seconds(1));
    if (hardships_.configurations && choices_() % 2 == 0) measure_speeds();
  }

  // Something happens: mostly a submission, else time passes or somebody is unlucky.
  void act() {
    const std::int64_t what = pick(0, 99);
    if (what < 45) {
      submit();
    } else if (what < 75) {
      simulation.advance(chance(50) ? milliseconds(pick(1, 200)) : seconds(pick(1, 30)));
    } else if (what < 82 && hardships_.cancels) {
      if (!jobs.empty()) (void)simulation.cancel(any_job());
    } else if (what < 85) {
      retry();
    } else if (what < 89 && hardships_.restarts) {
      simulation.restart_controller();
    } else if (what < 92 && hardships_.lost_executors) {
      lose_executor();
    } else if (what < 95 && hardships_.full_disks) {
      simulation.store().fail_next(static_cast<std::uint32_t>(pick(1, 3)));
    } else if (hardships_.drains) {
      const std::string name =
          "n" + std::to_string(
                    pick(0, static_cast<std::int64_t>(simulation.ledger().nodes().size()) - 1));
      (void)simulation.set_node_state(name, chance(50) ? Node::State::kDraining : Node::State::kUp);
    }
  }

  // All obstacles go away, and time passes until nothing is left to do.
  bool finish() {
    simulation.store().fail_next(0);
    simulation.reconnect_executor();
    simulation.advance(seconds(2));
    for (std::size_t i = 0; i < simulation.ledger().nodes().size(); ++i)
      (void)simulation.set_node_state("n" + std::to_string(i), Node::State::kUp);
    return simulation.run_until_idle(seconds(30 * 86400));
  }

  JobSpec random_spec() {
    const bool brief = chance(30);
    JobSpec one = spec(cpus(static_cast<double>(pick(1, 6)) / 2, 256 * pick(0, 4)),
                       brief ? milliseconds(pick(0, 20)) : milliseconds(pick(500, 60'000)),
                       chance(30) ? static_cast<std::uint32_t>(pick(2, brief ? 60 : 10)) : 1);
    if (hardships_.devices && chance(20)) {
      one.request.devices.count = static_cast<std::uint32_t>(pick(1, 2));
      if (chance(50)) one.request.devices.share = MilliGpu(pick(1, 10) * 100);
      if (chance(30)) one.request.devices.memory = MiB(1024 * pick(1, 12));
    }
    one.kind = brief ? "brief" : "kind" + std::to_string(pick(0, 5));
    one.user = chance(50) ? "ann" : "bob";
    one.project = chance(50) ? "p" : "q";
    if (chance(20)) one.priority = static_cast<std::int32_t>(pick(-2, 2));
    if (chance(50)) one.time_limit = seconds(pick(1, 90));
    if (one.tasks.count > 1 && chance(30))
      one.tasks.max_parallel = static_cast<std::uint32_t>(pick(1, 4));
    limit_on_nodes(one);
    if (chance(30)) {
      one.retry.max = static_cast<std::uint32_t>(pick(1, 3));
      one.retry.backoff = milliseconds(pick(0, 5000));
      SimCommand command = *SimCommand::parse(one.command.argv);
      command.exit_code = 1;
      command.fails = static_cast<std::uint32_t>(pick(1, 3));
      one.command.argv = command.argv();
    }
    if (chance(hardships_.gangs)) make_gang(one);
    allow_several(one);
    if (!jobs.empty() && chance(15)) {
      one.after.push_back({any_job(), static_cast<Dependency::When>(pick(0, 2))});
      awaited_.insert(one.after.back().job);
    }
    return one;
  }

  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  bool chance(int percent) { return pick(0, 99) < percent; }
  JobId any_job() {
    return jobs[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(jobs.size()) - 1))];
  }

  Simulation simulation;
  std::vector<JobId> jobs;

 private:
  void make_gang(JobSpec& one) {
    one.tasks = {.shape = TaskSet::Shape::kGang, .count = 0};
    const std::int64_t groups = pick(1, 3);
    for (std::int64_t i = 0; i < groups; ++i) {
      WorkerGroup group;
      group.name = "group" + std::to_string(i);
      group.ranks.count = static_cast<std::uint32_t>(pick(1, 5));
      if (chance(20)) group.ranks.parallel = static_cast<std::uint32_t>(pick(1, 3));
      group.ranks.request = one.request;
      group.ranks.request.cpus = MilliCpu(500 * pick(1, 3));
      group.ranks.request.ports = static_cast<std::uint32_t>(pick(0, 2));
      if (group.ranks.request.devices.unknown())
        group.ranks.request.devices.sharing = Sharing::kNever;
      group.ranks.failure.kind = static_cast<FailureRule::Kind>(pick(0, 3));
      const std::int64_t number = pick(1, group.ranks.count);
      if (group.ranks.failure.kind == FailureRule::Kind::kRestart ||
          group.ranks.failure.kind == FailureRule::Kind::kMinSucceeded)
        group.ranks.failure.number = static_cast<std::uint32_t>(number);
      one.tasks.count += group.ranks.count;
      one.gang.workers.push_back(std::move(group));
    }
    one.request = one.gang.workers.front().ranks.request;
  }

  void submit() {
    const Result<JobId> job = simulation.submit(random_spec());
    if (job) jobs.push_back(*job);
  }

  // Has dice of its own: the rest of a life is the same with and without.
  void limit_on_nodes(JobSpec& one) {
    if (!hardships_.node_limits || limits_() % 5 != 0 || !one.gang.workers.empty()) return;
    for (const Node& node : simulation.ledger().nodes()) {
      const std::uint32_t tasks = limits_() % 4;
      if (tasks > 0) one.node_limits.push_back({node.name, tasks});
    }
  }

  static ModelRun model() { return {"bert", 1'000'000'000, 64}; }

  void measure_speeds() {
    std::vector<SpeedChange> changes;
    for (const char* type : {"A", "B"})
      for (const std::uint32_t count : {1u, 2u})
        changes.push_back(
            {{model(), {type, 1, count}}, Speed{static_cast<double>(choices_() % 5)}});
    (void)simulation.set_speeds(std::move(changes));
  }

  // Has dice of its own, likewise.
  void allow_several(JobSpec& one) {
    if (!hardships_.configurations || one.request.devices.count == 0) return;
    if (!one.gang.workers.empty() || choices_() % 2 == 0) return;
    const std::uint32_t count = 1 + choices_() % 2;
    const std::vector<Configuration> all = {{"A", count}, {"B", 3 - count}, {"C", 1}};
    one.request = with_configuration(one.request, all.front());
    one.request.configurations.assign(all.begin(), all.begin() + 2 + choices_() % 2);
    if (choices_() % 2 == 0) one.model = model();
    if (choices_() % 8 == 0) measure_speeds();
  }

  // A job whose end others waited for is not retried: whether they wait for its new end too depends
  // on whether they were restored since.
  void retry() {
    if (jobs.empty()) return;
    const JobId job = any_job();
    if (!awaited_.contains(job)) (void)simulation.retry(job);
  }

  void lose_executor() {
    if (chance(50)) {
      simulation.kill_executor();
      return;
    }
    simulation.cut_off_executor();
    simulation.advance(milliseconds(pick(1, 20'000)));
    simulation.reconnect_executor();
  }

  std::mt19937 random_;
  std::mt19937 limits_;
  std::mt19937 choices_;
  std::set<JobId> awaited_;
  Hardships hardships_;
};

}  // namespace tutti::testing_support
