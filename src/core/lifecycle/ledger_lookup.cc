// The parts of Ledger that create, restore, find and forget; ledger.cc has the events.
#include <algorithm>
#include <functional>

#include "base/check.h"
#include "core/lifecycle/ledger.h"
#include "core/speed/plan_cells.h"

namespace tutti {

std::uint32_t Ledger::group_for(const JobFacts& facts) {
  const GroupKey key{.request = facts.request,
                     .account = {facts.project, facts.user},
                     .priority = facts.priority,
                     .time_limit = facts.time_limit,
                     .kind = facts.kind,
                     .ranks = facts.ranks,
                     .model = facts.model,
                     .limited = facts.node_limits.empty() ? JobId() : facts.id};
  if (const auto it = group_of_.find(key); it != group_of_.end()) return it->second;
  std::uint32_t index = static_cast<std::uint32_t>(groups_.size());
  if (free_groups_.empty()) {
    groups_.emplace_back();
  } else {
    index = free_groups_.back();
    free_groups_.pop_back();
  }
  groups_[index].key = key;
  groups_[index].node_limits = facts.node_limits;
  make_estimates(groups_[index]);
  group_of_[key] = index;
  return index;
}

// Estimates take a while, so they are made when a group or the table is new.
void Ledger::make_estimates(Group& group) {
  const Request& request = group.key.request;
  const ModelRun& model = group.key.model;
  group.speeds.assign(request.configurations.size(), std::nullopt);
  if (group.speeds.empty() || model.name.empty() || speeds_.empty()) return;
  auto& estimator = estimators_[model.name];
  if (!estimator) estimator = std::make_shared<SpeedEstimator>(speeds_, model.name);
  for (std::size_t i = 0; i < group.speeds.size(); ++i) {
    const Configuration& one = request.configurations[i];
    group.speeds[i] =
        estimator->estimate({model, {one.type, 1, one.count}}, memory_in_type(one.type));
  }
}

void Ledger::forget_estimates() {
  estimators_.clear();
  for (Group& group : groups_)
    if (group.jobs > 0) make_estimates(group);
}

Job& Ledger::insert_job(const JobFacts& facts, TimePoint submitted_at) {
  const std::uint32_t group = group_for(facts);
  ++groups_[group].jobs;
  Job& job = jobs_[facts.id];
  job.id = facts.id;
  job.group = group;
  job.tasks = facts.tasks;
  job.max_retries = facts.retry.max;
  job.backoff = facts.retry.backoff;
  job.after = facts.after;
  job.lease = facts.lease;
  job.submitted_at = submitted_at;
  job.counts[TaskState::kQueued] = facts.tasks.count;
  totals_[TaskState::kQueued] += facts.tasks.count;
  for (const Dependency& dependency : facts.after) waiters_[dependency.job].push_back(job.id);
  if (is_elastic(facts.ranks)) elastic_.insert(job.id);
  return job;
}

void Ledger::restore_node(const Node& node) {
  TUTTI_CHECK(node.id.value > 0);
  if (nodes_.size() < node.id.value) nodes_.resize(node.id.value);
  Node& stored = node_at(node.id);
  stored = node;
  stored.free_cpus = node.cpus;
  stored.free_memory = node.memory;
  stored.jobs = 0;
  stored.ports.clear();
  for (Device& device : stored.devices) {
    device.reserved_memory = MiB();
    device.reserved_share = MilliGpu();
    device.holders = 0;
  }
}

void Ledger::restore_task(Job& job, const TaskRow& task) {
  const std::uint32_t index = task.task.index;
  touch(job, index);
  set_state(job, index, task.state);
  job.slots[index].attempts = task.attempts;
  if (task.state == TaskState::kFailed)
    job.slots[index].exit_status = static_cast<std::uint8_t>(exit_status(task.outcome));
  job.slots[index].retries_used = static_cast<std::uint16_t>(task.retries_used);
  job.slots[index].oom_retries = static_cast<std::uint8_t>(task.oom_retries);
  if (is_final(task.state)) job.last_end = std::max(job.last_end, task.ended_at);
  // Of earlier attempts no row is read: the order of service that rests on it bears that.
  if (task.started_at && task.ended_at)
    job.served += static_cast<double>((task.ended_at - task.started_at).value) * 1e-6 *
                  static_cast<double>(weight_of(request_of(job, index)).value) * 1e-3;
  if (is_active(task.state)) {
    const Request& request = request_of(job, index);
    ActiveAttempt attempt{.id = {task.task, task.attempts},
                          .lane = task.lane,
                          .allocation = {task.node, request.cpus, request.memory, task.devices,
                                         task.measuring, task.ports},
                          .staged = task.staged,
                          .placed_at = task.placed_at,
                          .started_at = task.started_at,
                          .pid = task.pid,
                          .pid_birth = task.pid_birth,
                          .stop_cause = task.stop_cause};
    hold(attempt);
    active_[task.task] = attempt;
    if (attempt.stop_cause == Ending::kPreempted) job.restarting = !ranks_of(job).empty();
    if (attempt.staged) sort_backlog(lanes_.at(task.lane));
  } else if (task.state == TaskState::kQueued && task.not_before) {
    back_off(job, task.task, task.not_before);
  } else if (task.state == TaskState::kQueued) {
    job.again.push_back(index);
  }
  const bool remembered = task.state == TaskState::kQueued || task.state == TaskState::kFailed;
  if (remembered && task.ended_at && !ranks_of(job).empty())
    former_places_[task.task] = {.node = task.node, .ports = task.ports};
}

void Ledger::restore_job(const JobRow& row, const JobFacts& facts,
                         const std::vector<TaskRow>& tasks) {
  Job& job = insert_job(facts, row.submitted_at);
  // A dependency that is not live any more was met: otherwise this job would have been skipped.
  std::erase_if(job.after, [&](const Dependency& d) { return !jobs_.contains(d.job); });
  // One that is live again because it was retried was met too, if this job has begun.
  const bool begun = std::any_of(tasks.begin(), tasks.end(),
                                 [](const TaskRow& task) { return task.attempts > 0; });
  if (begun) job.after.clear();
  job.started_at = row.started_at;
  job.finished_at = row.finished_at;
  if (job.finished_at) elastic_.erase(job.id);
  job.exit_status = static_cast<std::int16_t>(row.exit_status);
  move_untouched(job, row.rest);
  for (const TaskRow& task : tasks) restore_task(job, task);
  std::sort(job.again.begin(), job.again.end(), std::greater<>());
  relist(job);
}

void Ledger::restore_speeds(SpeedTable speeds) {
  speeds_ = std::move(speeds);
  forget_estimates();
}

void Ledger::restore_profile(const std::string& kind, const Profile& profile) {
  profiles_[kind] = profile;
}

void Ledger::restore_usage(const UsageRecord& record) {
  usage_.restore(record);
}

void Ledger::restore_next_lane(std::uint64_t next_lane) {
  next_lane_ = std::max(next_lane_, next_lane);
}

void Ledger::retire(const std::set<JobId>& jobs) {
  for (const JobId id : jobs) {
    const auto it = jobs_.find(id);
    if (it == jobs_.end() || !it->second.finished_at) continue;
    for (std::size_t state = 0; state < kTaskStates; ++state)
      totals_.by_state[state] -= it->second.counts.by_state[state];
    Group& group = groups_[it->second.group];
    if (--group.jobs == 0) {
      group_of_.erase(group.key);
      free_groups_.push_back(it->second.group);
      group = Group();
    }
    jobs_.erase(it);
  }
}

const Job* Ledger::find_job(JobId id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second;
}

const ActiveAttempt* Ledger::find_active(TaskId task) const {
  const auto it = active_.find(task);
  return it == active_.end() ? nullptr : &it->second;
}

const Node* Ledger::find_node(NodeId id) const {
  return id.value >= 1 && id.value <= nodes_.size() ? &nodes_[id.value - 1] : nullptr;
}

const Node* Ledger::find_node(const std::string& name) const {
  const auto it = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) {
    return node.name == name && node.state != Node::State::kGone;
  });
  return it == nodes_.end() ? nullptr : &*it;
}

const Lane* Ledger::find_lane(LaneId id) const {
  const auto it = lanes_.find(id);
  return it == lanes_.end() ? nullptr : &it->second;
}

bool Ledger::is_current(AttemptId attempt) const {
  const ActiveAttempt* active = find_active(attempt.task);
  return active != nullptr && active->id == attempt;
}

bool wants_devices(const GroupKey& key) {
  return key.request.devices.count > 0 ||
         std::any_of(key.ranks.begin(), key.ranks.end(),
                     [](const RankGroup& one) { return one.request.devices.count > 0; });
}

std::optional<TaskId> Ledger::next_ready(std::uint32_t group) const {
  const Group& place = groups_[group];
  if (place.ready.empty()) return std::nullopt;
  const Job& job = jobs_.at(*place.ready.begin());
  const std::uint32_t index = job.again.empty() ? job.next_fresh : job.again.back();
  TUTTI_CHECK(job.state_of(index) == TaskState::kQueued);
  return TaskId{job.id, index};
}

std::uint32_t Ledger::attempts_of(TaskId task) const {
  const Job* job = find_job(task.job);
  return job != nullptr && task.index < job->slots.size() ? job->slots[task.index].attempts : 0;
}

TimePoint Ledger::not_before(TaskId task) const {
  const auto it = backoff_of_.find(task);
  return it == backoff_of_.end() ? TimePoint() : it->second;
}

bool Ledger::awaits_devices() const {
  return ready_for_devices_ > 0 ||
         std::any_of(regrowing_.begin(), regrowing_.end(),
                     [this](JobId id) { return wants_devices(groups_[jobs_.at(id).group].key); });
}

JobRow Ledger::row(const Job& job) const {
  return {.id = job.id,
          .state = state_of(job),
          .rest = job.rest,
          .counts = job.counts,
          .submitted_at = job.submitted_at,
          .started_at = job.started_at,
          .finished_at = job.finished_at,
          .exit_status = job.exit_status};
}

TaskRow Ledger::task_row(const Job& job, std::uint32_t index, const ActiveAttempt* attempt) const {
  const TaskSlot& slot = job.slots[index];
  TaskRow row{.task = {job.id, index},
              .state = slot.state,
              .attempts = slot.attempts,
              .retries_used = slot.retries_used,
              .oom_retries = slot.oom_retries};
  if (attempt == nullptr) return row;
  row.node = attempt->allocation.node;
  row.lane = attempt->lane;
  row.staged = attempt->staged;
  row.devices = attempt->allocation.devices;
  row.measuring = attempt->allocation.measuring;
  row.ports = attempt->allocation.ports;
  row.placed_at = attempt->placed_at;
  row.started_at = attempt->started_at;
  row.pid = attempt->pid;
  row.pid_birth = attempt->pid_birth;
  row.stop_cause = attempt->stop_cause;
  return row;
}

const Profile* Ledger::profile(const std::string& kind) const {
  const auto it = profiles_.find(kind);
  return it == profiles_.end() ? nullptr : &it->second;
}

const ActiveAttempt* Ledger::measurer(const std::string& kind) const {
  const auto it = measurers_.find(kind);
  return it == measurers_.end() ? nullptr : find_active(it->second);
}

MilliCpu Ledger::held(const Account& account) const {
  const auto it = held_.find(account);
  return it == held_.end() ? MilliCpu() : it->second;
}

Job& Ledger::job_at(JobId id) {
  const auto it = jobs_.find(id);
  TUTTI_CHECK(it != jobs_.end());
  return it->second;
}

Node& Ledger::node_at(NodeId id) {
  TUTTI_CHECK(id.value >= 1 && id.value <= nodes_.size());
  return nodes_[id.value - 1];
}

}  // namespace tutti
