#include "sim/memory_store.h"

#include <algorithm>

namespace tutti {
namespace {

Error no_job(JobId job) {
  return not_found("there is no job " + std::to_string(job.value));
}

}  // namespace

Result<void> MemoryStore::commit(const Round& round) {
  if (full_ || failing_ > 0) {
    if (failing_ > 0) --failing_;
    return Error{ErrorCode::kExhausted, "the disk is full; free some space"};
  }
  ++rounds_;
  for (const auto& [job, spec] : round.submitted) specs_[job] = *spec;
  for (const Event& event : round.events) keep(event);
  for (const JobRow& row : round.jobs) jobs_[row.id] = row;
  for (const TaskRow& row : round.tasks) tasks_[row.task] = row;
  for (const auto& [kind, profile] : round.profiles) {
    if (profile)
      profiles_[kind] = *profile;
    else
      profiles_.erase(kind);
  }
  for (const UsageRecord& record : round.usage) usage_[record.account] = record;
  return {};
}

void MemoryStore::keep(const Event& event) {
  journal_.push_back(event);
  if (const auto* submitted = std::get_if<JobSubmitted>(&event.body)) {
    facts_[submitted->facts.id] = submitted->facts;
    next_job_ = std::max(next_job_, submitted->facts.id.value + 1);
  } else if (const auto* placed = std::get_if<AttemptPlaced>(&event.body)) {
    next_lane_ = std::max(next_lane_, placed->lane.value + 1);
  } else if (const auto* changed = std::get_if<NodeChanged>(&event.body)) {
    nodes_[changed->node.id] = changed->node;
  } else if (const auto* state = std::get_if<NodeStateChanged>(&event.body)) {
    nodes_.at(state->node).state = state->state;
    nodes_.at(state->node).state_reason = state->reason;
  } else if (const auto* speeds = std::get_if<SpeedsChanged>(&event.body)) {
    for (const SpeedChange& change : speeds->changes) {
      if (change.speed)
        speeds_.set(change.cell, *change.speed);
      else
        speeds_.erase(change.cell);
    }
  }
}

Result<Recovered> MemoryStore::recover() {
  Recovered recovered;
  recovered.next_job = next_job_;
  recovered.next_lane = next_lane_;
  for (const auto& [id, row] : jobs_) {
    if (row.finished_at) continue;
    recovered.jobs.push_back({row, facts_.at(id), *load_tasks(id)});
  }
  for (const auto& [id, node] : nodes_) recovered.nodes.push_back(node);
  recovered.profiles.assign(profiles_.begin(), profiles_.end());
  recovered.speeds = speeds_;
  for (const auto& [account, record] : usage_) recovered.usage.push_back(record);
  return recovered;
}

Result<JobSpec> MemoryStore::load_spec(JobId job) {
  if (unreadable_) return Error{ErrorCode::kCorrupt, "the database cannot be read"};
  const auto it = specs_.find(job);
  if (it == specs_.end()) return no_job(job);
  JobSpec spec = it->second;
  spec.lines.clear();
  return spec;
}

Result<std::vector<std::string>> MemoryStore::load_lines(JobId job, std::uint32_t first,
                                                         std::uint32_t count) {
  if (unreadable_) return Error{ErrorCode::kCorrupt, "the database cannot be read"};
  const auto it = specs_.find(job);
  if (it == specs_.end()) return no_job(job);
  const std::vector<std::string>& lines = it->second.lines;
  const std::size_t from = std::min<std::size_t>(first, lines.size());
  const std::size_t to = std::min<std::size_t>(from + count, lines.size());
  return std::vector<std::string>(lines.begin() + static_cast<std::ptrdiff_t>(from),
                                  lines.begin() + static_cast<std::ptrdiff_t>(to));
}

Result<JobRow> MemoryStore::load_job(JobId job) {
  const auto it = jobs_.find(job);
  if (it == jobs_.end()) return no_job(job);
  return it->second;
}

Result<std::vector<TaskRow>> MemoryStore::load_tasks(JobId job) {
  std::vector<TaskRow> rows;
  for (auto it = tasks_.lower_bound({job, 0}); it != tasks_.end() && it->first.job == job; ++it)
    rows.push_back(it->second);
  return rows;
}

}  // namespace tutti
