#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/store.h"
#include "core/lifecycle/ledger.h"
#include "core/policy/explain.h"

namespace tutti::testing_support {

// What attempts of a ledger hold of a node, summed up from lanes and attempts.
inline Node held_of(const Ledger& ledger, Node node) {
  node.free_cpus = node.cpus;
  node.free_memory = node.memory;
  node.ports.clear();
  for (Device& device : node.devices) {
    device.reserved_memory = MiB();
    device.reserved_share = MilliGpu();
    device.holders = 0;
  }
  for (const auto& [id, lane] : ledger.lanes()) {
    if (lane.node != node.id || lane.request.devices.count > 0) continue;
    node.free_cpus -= lane.request.cpus * lane.width;
    node.free_memory -= lane.request.memory * lane.width;
  }
  for (const auto& [task, attempt] : ledger.active()) {
    if (attempt.allocation.node != node.id) continue;
    const Request& request = ledger.request_of(*ledger.find_job(task.job), task.index);
    if (request.devices.count > 0) {
      reserve(node, attempt.allocation);
      continue;
    }
    for (const std::uint32_t port : attempt.allocation.ports) node.ports.push_back(port);
  }
  std::sort(node.ports.begin(), node.ports.end());
  return node;
}

inline std::string broken_node(const Ledger& ledger, const Node& node) {
  const Node held = held_of(ledger, node);
  if (held.free_cpus != node.free_cpus || held.free_memory != node.free_memory)
    return fmt::format("node {}: free {} mCPU {} MiB, but its lanes leave {} and {}", node.name,
                       node.free_cpus.value, node.free_memory.value, held.free_cpus.value,
                       held.free_memory.value);
  if (held.ports != node.ports) return "node " + node.name + ": ports do not add up";
  if (std::adjacent_find(node.ports.begin(), node.ports.end()) != node.ports.end())
    return "node " + node.name + ": a port was granted twice";
  if (held.devices != node.devices) return "node " + node.name + ": devices do not add up";
  if (node.free_cpus.value < 0 || node.free_memory.value < 0)
    return "node " + node.name + " is over-allocated";
  for (const Device& device : node.devices) {
    if (device.reserved_memory > device.memory || device.reserved_share > MilliGpu(1000))
      return "a device of node " + node.name + " is over-allocated";
  }
  return {};
}

inline std::string broken_lanes(const Ledger& ledger) {
  std::map<LaneId, Lane> seen;
  for (const auto& [task, attempt] : ledger.active()) {
    Lane& lane = seen[attempt.lane];
    ++lane.active;
    lane.staged += attempt.staged ? 1 : 0;
  }
  for (const auto& [id, lane] : ledger.lanes()) {
    if (lane.active != seen[id].active || lane.staged != seen[id].staged)
      return fmt::format("lane {} counts wrong", id.value);
    if (lane.width != lane.active - lane.staged)
      return fmt::format("lane {} has {} allocations for {} attempts", id.value, lane.width,
                         lane.active - lane.staged);
  }
  return seen.size() == ledger.lanes().size() ? "" : "an attempt is in no lane";
}

inline std::string broken_counts(const Ledger& ledger) {
  TaskCounts totals;
  std::map<std::uint32_t, std::uint64_t> ready;
  for (const auto& [id, job] : ledger.jobs()) {
    TaskCounts counts;
    for (std::uint32_t index = 0; index < job.tasks.count; ++index) ++counts[job.state_of(index)];
    if (!(counts == job.counts)) return fmt::format("job {} counts its tasks wrong", id.value);
    for (std::size_t s = 0; s < kTaskStates; ++s) totals.by_state[s] += counts.by_state[s];
    ready[job.group] += job.listed;
    if (job.tasks.max_parallel > 0 && counts.active() > job.tasks.max_parallel)
      return fmt::format("job {} runs more than it may", id.value);
  }
  for (const auto& [group, tasks] : ready) {
    if (ledger.group(group).ready_tasks != tasks) return "a group counts its tasks wrong";
  }
  return totals == ledger.totals() ? "" : "the totals are wrong";
}

// All ranks of a gang run, or none; where one may run again alone, or their number is a matter of
// shape, the others need not.
inline std::string broken_gangs(const Ledger& ledger) {
  for (const auto& [id, job] : ledger.jobs()) {
    const std::vector<RankGroup>& groups = ledger.ranks_of(job);
    const bool together = std::all_of(groups.begin(), groups.end(), [](const RankGroup& group) {
      return group.parallel == 0 && group.failure.kind != FailureRule::Kind::kRestart;
    });
    if (groups.empty() || !together || job.restarting || is_elastic(groups)) continue;
    if (job.counts.active() > 0 && job.counts[TaskState::kQueued] > 0)
      return fmt::format("job {}: {} ranks wait while {} run", id.value,
                         job.counts[TaskState::kQueued], job.counts.active());
  }
  return {};
}

inline std::string broken_node_limits(const Ledger& ledger) {
  std::map<std::pair<JobId, std::string>, std::uint32_t> running;
  for (const auto& [task, attempt] : ledger.active())
    ++running[{task.job, ledger.find_node(attempt.allocation.node)->name}];
  for (const auto& [id, job] : ledger.jobs()) {
    for (const NodeLimit& limit : ledger.group(job.group).node_limits) {
      if (running[{id, limit.node}] > limit.tasks)
        return fmt::format("job {} has more tasks on {} than it may", id.value, limit.node);
    }
  }
  return {};
}

// The first thing that is wrong with a ledger in itself; empty: nothing.
inline std::string broken_invariant(const Ledger& ledger) {
  for (const Node& node : ledger.nodes()) {
    if (std::string broken = broken_node(ledger, node); !broken.empty()) return broken;
  }
  if (std::string broken = broken_lanes(ledger); !broken.empty()) return broken;
  if (std::string broken = broken_gangs(ledger); !broken.empty()) return broken;
  if (std::string broken = broken_node_limits(ledger); !broken.empty()) return broken;
  return broken_counts(ledger);
}

// The first held task without a readable reason; empty: none. Looks at two tasks of each job.
inline std::string held_without_reason(const Ledger& ledger, TimePoint now) {
  for (const auto& [id, job] : ledger.jobs()) {
    for (const std::uint32_t task : {0u, job.tasks.count - 1}) {
      const Explanation why = explain(ledger, id, task, now);
      if (why.state != TaskState::kQueued) continue;
      if (why.reasons.empty()) return fmt::format("{}.{} waits without a reason", id.value, task);
      for (const Reason& reason : why.reasons) {
        if (text_of(reason, now).empty())
          return fmt::format("{}.{}: a reason is mute", id.value, task);
      }
    }
  }
  return {};
}

inline std::string job_difference(const Ledger& a, const Ledger& b, const Job& job) {
  const Job* other = b.find_job(job.id);
  const std::string name = fmt::format("job {}: ", job.id.value);
  if (other == nullptr) return name + "missing";
  if (!(a.row(job) == b.row(*other))) return name + "rows differ";
  if (job.restarting != other->restarting) return name + "one restarts all its ranks";
  if (job.after != other->after) return name + "other dependencies";
  if (job.listed != other->listed) return name + "other number of ready tasks";
  if (job.again != other->again) return name + "another order of tasks to run again";
  for (std::uint32_t index = 0; index < job.tasks.count; ++index) {
    const TaskId task{job.id, index};
    if (job.state_of(index) != other->state_of(index)) return name + "a task's state differs";
    if (a.attempts_of(task) != b.attempts_of(task)) return name + "attempts differ";
    if (a.not_before(task) != b.not_before(task)) return name + "a back-off differs";
  }
  return {};
}

inline std::string attempt_difference(const ActiveAttempt& a, const ActiveAttempt* b) {
  const std::string name = fmt::format("attempt {}.{}: ", a.id.task.job.value, a.id.task.index);
  if (b == nullptr) return name + "missing";
  const bool same = a.id == b->id && a.lane == b->lane && a.allocation == b->allocation &&
                    a.staged == b->staged && a.placed_at == b->placed_at &&
                    a.started_at == b->started_at && a.stop_cause == b->stop_cause;
  return same ? "" : name + "differs";
}

// The first thing in which two ledgers differ; empty: they are the same.
inline std::string difference(const Ledger& a, const Ledger& b) {
  if (a.jobs().size() != b.jobs().size())
    return fmt::format("{} and {} jobs", a.jobs().size(), b.jobs().size());
  for (const auto& [id, job] : a.jobs()) {
    if (std::string found = job_difference(a, b, job); !found.empty()) return found;
  }
  for (const auto& [task, attempt] : a.active()) {
    const std::string found = attempt_difference(attempt, b.find_active(task));
    if (!found.empty()) return found;
  }
  if (a.active().size() != b.active().size()) return "other attempts";
  if (a.nodes() != b.nodes()) return "nodes differ";
  if (a.lanes().size() != b.lanes().size()) return "other lanes";
  for (const auto& [id, lane] : a.lanes()) {
    const Lane* other = b.find_lane(id);
    if (other == nullptr || other->width != lane.width || other->active != lane.active ||
        other->staged != lane.staged || other->node != lane.node)
      return fmt::format("lane {} differs", id.value);
  }
  if (a.new_lane() != b.new_lane()) return "other next lane";
  if (a.usage().records() != b.usage().records()) return "use differs";
  if (!(a.totals() == b.totals())) return "totals differ";
  return a.next_due() == b.next_due() ? "" : "due at another time";
}

// The ledger that a journal tells of, without the jobs that have finished.
inline Ledger replayed(std::span<const Event> journal, TimePoint now) {
  Ledger ledger;
  std::set<JobId> finished;
  for (const Event& event : journal) {
    Changes changes;
    ledger.advance(event.at);
    ledger.apply(event, changes);
  }
  ledger.advance(now);
  for (const auto& [id, job] : ledger.jobs()) {
    if (job.finished_at) finished.insert(id);
  }
  ledger.retire(finished);
  return ledger;
}

// The ledger that a controller would build from these rows.
inline Ledger recovered(const Recovered& rows, TimePoint now) {
  Ledger ledger;
  ledger.restore_next_lane(rows.next_lane);
  for (const Node& node : rows.nodes) ledger.restore_node(node);
  for (const auto& [kind, profile] : rows.profiles) ledger.restore_profile(kind, profile);
  for (const UsageRecord& record : rows.usage) ledger.restore_usage(record);
  for (const Recovered::UnfinishedJob& job : rows.jobs)
    ledger.restore_job(job.row, job.facts, job.tasks);
  ledger.advance(now);
  return ledger;
}

}  // namespace tutti::testing_support
