#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/lifecycle/ledger.h"
#include "core/plan/snapshot.h"
#include "core/policy/decide.h"
#include "core/policy/explain.h"
#include "sim/sim_command.h"

namespace tutti::testing_support {

inline constexpr TimePoint kNow{1'000'000'000'000};

inline Node node(const std::string& name, std::int64_t cpus, std::int64_t memory_mib = 65536) {
  Node node;
  node.name = name;
  node.cpus = node.free_cpus = MilliCpu(cpus * 1000);
  node.memory = node.free_memory = MiB(memory_mib);
  return node;
}

inline Node with_gpus(Node node, std::uint32_t count, std::int64_t memory_mib = 40960,
                      const std::string& type = "") {
  for (std::uint32_t i = 0; i < count; ++i)
    node.devices.push_back({.id = DeviceId(i), .type = type, .memory = MiB(memory_mib)});
  return node;
}

inline Node with_backlog(Node node) {
  node.keeps_backlog = true;
  return node;
}

inline Request cpus(double count, std::int64_t memory_mib = 0) {
  Request request;
  request.cpus = MilliCpu(static_cast<std::int64_t>(count * 1000));
  request.memory = MiB(memory_mib);
  return request;
}

inline Request gpus(std::uint32_t count, std::int64_t share = 0, std::int64_t memory_mib = 0) {
  Request request;
  request.cpus = MilliCpu(100);
  request.devices.count = count;
  request.devices.share = MilliGpu(share);
  request.devices.memory = MiB(memory_mib);
  return request;
}

// A job of the simulator: a spec that validate() takes.
inline JobSpec spec(Request request, Duration runs = seconds(10), std::uint32_t tasks = 1) {
  JobSpec spec;
  spec.name = spec.kind = "job";
  spec.user = "ann";
  spec.workdir = "/";
  spec.command.argv = SimCommand{.runs = runs}.argv();
  spec.request = std::move(request);
  spec.tasks.count = tasks;
  if (tasks > 1) spec.tasks.shape = TaskSet::Shape::kArray;
  return spec;
}

// A ledger to which things happen, for tests of the core without any controller.
class World {
 public:
  explicit World(std::vector<Node> nodes) {
    for (Node& one : nodes) {
      one.id = NodeId(static_cast<std::uint32_t>(ledger.nodes().size() + 1));
      happen(NodeChanged{one});
    }
  }

  void happen(EventBody body) {
    journal.push_back({now, std::move(body)});
    ledger.apply(journal.back(), changes);
  }

  JobId submit(const JobSpec& spec) {
    const JobId id(++jobs_);
    happen(JobSubmitted{facts_of(id, spec)});
    return id;
  }

  // One pass of decide(), applied as a controller would. Returns what was placed.
  std::vector<AttemptId> pass() {
    std::vector<AttemptId> placed;
    while (true) {
      plan = decide(snapshot_of(ledger, now, ordering));
      for (const Start& start : plan.starts) {
        const TaskId task = ledger.next_ready(start.group).value();
        const GroupKey& key = ledger.group(start.group).key;
        placed.push_back({task, ledger.attempts_of(task) + 1});
        happen(AttemptPlaced{placed.back(), ledger.lane_for(start.allocation.node, key),
                             start.staged, start.allocation});
      }
      if (!plan.more) return placed;
    }
  }

  void start(AttemptId attempt) { happen(AttemptStarted{attempt, now, 1}); }
  // Everything that was placed by a pass starts.
  void run() {
    for (const AttemptId& attempt : pass()) {
      if (!ledger.find_active(attempt.task)->staged) start(attempt);
    }
  }

  void end(TaskId task, Outcome outcome = {}, bool released = true) {
    const ActiveAttempt attempt = *ledger.find_active(task);
    happen(AttemptEnded{attempt.id, attempt.started_at, now, outcome, released});
  }

  void wait(Duration duration) {
    now = now + duration;
    ledger.advance(now);
  }

  // The kind has been seen to run this long, several times.
  void measured(const std::string& kind, Duration ran) {
    Profile profile;
    for (int i = 0; i < 5; ++i) profile.add(ran, MiB(1));
    ledger.restore_profile(kind, profile);
  }

  TaskState state(TaskId task) const { return ledger.find_job(task.job)->state_of(task.index); }
  Explanation why(JobId job, std::uint32_t task = 0) { return explain(ledger, job, task, now); }

  Ledger ledger;
  Changes changes;
  std::vector<Event> journal;
  TimePoint now = kNow;
  Ordering ordering = Ordering::kFair;
  Plan plan;

 private:
  std::uint64_t jobs_ = 0;
};

inline Outcome failed(int exit_code = 1) {
  return {.ending = Ending::kExited, .exit_code = exit_code};
}

}  // namespace tutti::testing_support
