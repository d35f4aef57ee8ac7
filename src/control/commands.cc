// Controller's side of Front: commands become events, or a refusal that says why.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "control/controller.h"
#include "core/policy/explain.h"
#include "core/policy/impossible.h"
#include "core/spec/validate.h"

namespace tutti {
namespace {

Error no_such_job(JobId job) {
  return not_found(fmt::format("there is no job {}", job.value));
}

// A task that does not exist must not reach the ledger, which takes it for a bug.
Result<void> check_tasks(const Job& job, const Selection& selection) {
  for (const std::uint32_t index : selection.tasks) {
    if (index >= job.tasks.count)
      return not_found(fmt::format("job {} has {} tasks only", job.id.value, job.tasks.count));
  }
  return {};
}

bool is_retryable(TaskState state) {
  return is_final(state) && state != TaskState::kSucceeded;
}

// Of single tasks the message is about these: of the others there may be something left.
Error nothing_to_cancel(const Job* job, const Selection& selection) {
  const std::uint64_t id = selection.job.value;
  const std::size_t named = selection.tasks.size();
  if (job == nullptr || named == 0)
    return conflict(fmt::format("job {} has nothing left to cancel", id));
  if (named > 1)
    return conflict(fmt::format("of job {} none of the {} tasks is left to cancel", id, named));
  const std::uint32_t index = selection.tasks.front();
  return conflict(fmt::format("task {}.{} has nothing left to cancel: it {}", id,
                              job->tasks.label(index),
                              is_final(job->state_of(index)) ? "has ended" : "is being ended"));
}

Error nothing_to_retry(const Job& job, const Selection& selection) {
  const std::uint64_t id = job.id.value;
  const std::size_t named = selection.tasks.size();
  if (named == 0)
    return conflict(fmt::format("job {} has nothing to retry: {}", id,
                                job.finished_at ? "every task of it succeeded"
                                                : "none of its tasks has ended without success"));
  if (named > 1)
    return conflict(
        fmt::format("of job {} none of the {} tasks has ended without success", id, named));
  const std::uint32_t index = selection.tasks.front();
  return conflict(fmt::format("task {}.{} has nothing to retry: it {}", id, job.tasks.label(index),
                              is_final(job.state_of(index)) ? "succeeded" : "has not ended"));
}

}  // namespace

template <typename T>
Controller::Work Controller::answered(std::function<Result<T>()> handle, Reply<T> reply) {
  return [this, handle = std::move(handle), reply = std::move(reply)] {
    if (!trouble_.empty()) {
      reply(Error{trouble_code_, trouble_});
      return;
    }
    // Kept by pointer: std::function wants to copy what it holds.
    auto result = std::make_shared<Result<T>>(handle());
    replies_.push_back([reply, result](const Error* error) {
      reply(error != nullptr && result->has_value() ? Result<T>(*error) : std::move(*result));
    });
  };
}

template <typename T>
void Controller::command(std::function<Result<T>()> handle, Reply<T> reply) {
  post(answered<T>(std::move(handle), std::move(reply)));
}

void Controller::submit(std::vector<JobSpec> specs, bool dry_run, Reply<Submitted> reply) {
  const bool lease = specs.size() == 1 && specs.front().lease && !dry_run;
  auto shared = std::make_shared<std::vector<JobSpec>>(std::move(specs));
  Work work = answered<Submitted>(
      [this, shared, dry_run] { return accept(std::move(*shared), dry_run); }, std::move(reply));
  if (!lease) return post(std::move(work));
  std::unique_lock lock(mutex_);
  const bool at_once = may_serve_at_once();
  inbox_.push_back(std::move(work));
  const TimePoint due = due_;
  if (at_once) take_turn(lock);
  const bool wake = has_work() || due_ != due;
  lock.unlock();
  if (wake) wake_.notify_one();
}

void Controller::cancel(std::vector<Selection> selections, Reply<Changed> reply) {
  command<Changed>([this, selections = std::move(selections)] { return accept_cancel(selections); },
                   std::move(reply));
}

void Controller::cancel_all(Reply<Changed> reply) {
  command<Changed>(
      [this]() -> Result<Changed> {
        std::vector<JobId> ids;
        for (const auto& [id, job] : ledger_.jobs()) ids.push_back(id);
        std::sort(ids.begin(), ids.end());
        Changed changed;
        for (const JobId id : ids) {
          const std::uint64_t tasks = cancel_one({id, {}});
          changed.tasks += tasks;
          if (tasks > 0) changed.jobs.push_back(id);
        }
        return changed;
      },
      std::move(reply));
}

void Controller::retry(Selection selection, Reply<Changed> reply) {
  command<Changed>([this, selection = std::move(selection)] { return accept_retry(selection); },
                   std::move(reply));
}

// A question: answered though nothing can be written.
void Controller::explain(JobId job, std::uint32_t task, Reply<Explanation> reply) {
  post([this, job, task, reply = std::move(reply)] { reply(accept_explain(job, task)); });
}

void Controller::status(Reply<Status> reply) {
  post([this, reply = std::move(reply)] { reply(current_status()); });
}

void Controller::set_node_state(std::string node, Node::State state, std::string reason,
                                Reply<Node> reply) {
  command<Node>([this, node = std::move(node), state,
                 reason = std::move(reason)] { return accept_node_state(node, state, reason); },
                std::move(reply));
}

void Controller::add_node(Node node, Reply<Node> reply) {
  command<Node>([this, node = std::move(node)] { return accept_node(node); }, std::move(reply));
}

void Controller::set_node_limit(std::string node, std::uint32_t max_jobs, Reply<Node> reply) {
  command<Node>(
      [this, node = std::move(node), max_jobs] { return accept_node_limit(node, max_jobs); },
      std::move(reply));
}

void Controller::remove_node(std::string name, bool force, Reply<Node> reply) {
  command<Node>([this, name = std::move(name), force] { return accept_node_removal(name, force); },
                std::move(reply));
}

void Controller::device_holders(Reply<DeviceHolders> reply) {
  post([this, reply = std::move(reply)] {
    DeviceHolders held{.nodes = present_nodes()};
    for (const auto& [task, attempt] : ledger_.active()) {
      if (attempt.allocation.devices.empty()) continue;
      const Job& job = *ledger_.find_job(task.job);
      const GroupKey& key = ledger_.group(job.group).key;
      held.holders.push_back({attempt.id, job.tasks.label(task.index), job.lease, key.account.user,
                              key.kind, attempt.allocation, attempt.pid});
    }
    std::sort(held.holders.begin(), held.holders.end(),
              [](const DeviceHolder& a, const DeviceHolder& b) { return a.attempt < b.attempt; });
    reply(std::move(held));
  });
}

void Controller::profiles(Reply<Profiles> reply) {
  post([this, reply = std::move(reply)] {
    reply(Profiles(ledger_.profiles().begin(), ledger_.profiles().end()));
  });
}

void Controller::set_profiles(std::vector<std::pair<std::string, std::optional<Profile>>> profiles,
                              Reply<Changed> reply) {
  command<Changed>(
      [this, profiles = std::move(profiles)]() -> Result<Changed> {
        for (const auto& [kind, profile] : profiles) {
          if (!profile && ledger_.profile(kind) == nullptr)
            return not_found(fmt::format(
                "nothing is known of kind '{}'; `tutti profile ls` lists the kinds", kind));
        }
        for (const auto& [kind, profile] : profiles) record(ProfileChanged{kind, profile});
        return Changed{profiles.size(), {}};
      },
      std::move(reply));
}

void Controller::speeds(Reply<SpeedTable> reply) {
  post([this, reply = std::move(reply)] { reply(ledger_.speeds()); });
}

void Controller::set_speeds(std::vector<SpeedChange> changes, Reply<Changed> reply) {
  command<Changed>(
      [this, changes = std::move(changes)]() mutable -> Result<Changed> {
        const std::uint64_t cells = changes.size();
        // The store tells cells apart by the very letters.
        for (SpeedChange& change : changes)
          change.cell.shape.type = ledger_.speeds().spelling_of(change.cell.shape.type);
        if (cells > 0) record(SpeedsChanged{std::move(changes)});
        return Changed{cells, {}};
      },
      std::move(reply));
}

// Nothing of it is an event: the ledger does not know finished jobs, and their events stay.
void Controller::prune(PruneStep step, Reply<bool> reply) {
  command<bool>(
      [this, step = std::move(step)]() mutable -> Result<bool> {
        std::erase_if(step.jobs, [this](JobId id) { return ledger_.find_job(id) != nullptr; });
        return store_.prune(step);
      },
      std::move(reply));
}

// ---- submit
// --------------------------------------------------------------------------------------

Result<void> Controller::check(JobSpec& spec) const {
  fill_defaults(spec);
  for (const WorkerGroup& group : spec.gang.workers) {
    if (!group.ranks.elastic || (elastic_.is_open() && spec.gang.workers.size() == 1)) continue;
    return invalid_input(
        fmt::format("{}: jobs that change their shape are not scheduled here", group.name));
  }
  if (const Result<void> valid = validate(spec); !valid) return valid.error();
  if (const std::string why = impossible(ledger_, spec.request); !why.empty())
    return invalid_input(why);
  for (const WorkerGroup& group : spec.gang.workers) {
    if (const std::string why = impossible(ledger_, group.ranks.request); !why.empty())
      return invalid_input(fmt::format("{}: {}", group.name, why));
  }
  if (const std::string why = impossible_gang(ledger_, facts_of({}, spec).ranks); !why.empty())
    return invalid_input(why);
  if (const std::string why = impossible_kind(ledger_, spec.request, spec.kind); !why.empty())
    return invalid_input(why);
  return {};
}

Result<TaskState> Controller::state_now(JobId id) {
  if (const Job* job = ledger_.find_job(id)) return ledger_.state_of(*job);
  const Result<JobRow> row = store_.load_job(id);
  if (!row) return row.error();
  return row->state;
}

Result<JobFacts> Controller::accept_facts(JobId id, const JobSpec& spec) {
  JobFacts facts = facts_of(id, spec);
  facts.after.clear();
  for (const Dependency& dependency : spec.after) {
    const Result<TaskState> state = state_now(dependency.job);
    if (!state && state.error().code == ErrorCode::kNotFound)
      return not_found(fmt::format("it should start after job {}, but there is no such job",
                                   dependency.job.value));
    if (!state) return state.error();
    // What ended otherwise is kept: the job is skipped, as if it had been submitted in time.
    if (!is_final(*state) || !is_met(dependency.when, *state)) facts.after.push_back(dependency);
  }
  return facts;
}

Result<Submitted> Controller::accept(std::vector<JobSpec> specs, bool dry_run) {
  // All or nothing: every spec is checked before the first is taken.
  std::vector<JobFacts> facts;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::string where =
        specs.size() > 1 ? fmt::format("job {} of {}: ", i + 1, specs.size()) : std::string();
    if (const Result<void> valid = check(specs[i]); !valid)
      return Error{valid.error().code, where + valid.error().message};
    Result<JobFacts> accepted = accept_facts(JobId(next_job_ + i), specs[i]);
    if (!accepted) return Error{accepted.error().code, where + accepted.error().message};
    facts.push_back(std::move(*accepted));
  }
  Submitted submitted;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (dry_run) {
      submitted.explanations.push_back(explain_submission(ledger_, facts[i], now_));
      submitted.plans.push_back(plan_of(facts[i], specs[i]));
      continue;
    }
    submitted.jobs.push_back(facts[i].id);
    launches_.remember(facts[i].id, std::move(specs[i]));
    record(JobSubmitted{std::move(facts[i])});
  }
  next_job_ += submitted.jobs.size();
  return submitted;
}

// ---- cancel and retry
// ----------------------------------------------------------------------------

std::uint64_t Controller::cancel_one(const Selection& selection) {
  const Job* job = ledger_.find_job(selection.job);
  if (job == nullptr || job->finished_at) return 0;
  std::vector<AttemptId> active;
  const auto consider = [&](std::uint32_t index) {
    const ActiveAttempt* attempt = ledger_.find_active({job->id, index});
    // One that is stopped to run again is not to, after all.
    if (attempt != nullptr &&
        (attempt->stop_cause == Ending::kExited || attempt->stop_cause == Ending::kPreempted))
      active.push_back(attempt->id);
  };
  std::uint64_t queued = 0;
  if (selection.tasks.empty()) {
    for (std::uint32_t index = 0; index < job->slots.size(); ++index) consider(index);
    queued = job->counts[TaskState::kQueued];
  } else {
    for (const std::uint32_t index : selection.tasks) {
      consider(index);
      queued += job->state_of(index) == TaskState::kQueued ? 1 : 0;
    }
  }
  if (queued + active.size() == 0) return 0;
  record(CancelRequested{selection.job, selection.tasks});
  for (const AttemptId& attempt : active) {
    record(StopOrdered{attempt, Ending::kCancelled});
    const NodeId node = ledger_.find_active(attempt.task)->allocation.node;
    effects_.emplace_back(StopAttempt{attempt, node, Ending::kCancelled});
  }
  // Whoever waits for a lease is told, though nothing of it has started.
  if (job->lease && active.empty())
    effects_.emplace_back(StopAttempt{{{selection.job, 0}, 0}, kThisMachine, Ending::kCancelled});
  return queued + active.size();
}

Result<Changed> Controller::accept_cancel(const std::vector<Selection>& selections) {
  for (const Selection& selection : selections) {
    if (const Job* job = ledger_.find_job(selection.job)) {
      if (const Result<void> known = check_tasks(*job, selection); !known) return known.error();
      continue;
    }
    if (const Result<JobRow> row = store_.load_job(selection.job); !row)
      return row.error().code == ErrorCode::kNotFound ? no_such_job(selection.job) : row.error();
  }
  Changed changed;
  for (const Selection& selection : selections) {
    const std::uint64_t tasks = cancel_one(selection);
    changed.tasks += tasks;
    if (tasks > 0) changed.jobs.push_back(selection.job);
  }
  if (changed.tasks == 0 && selections.size() == 1)
    return nothing_to_cancel(ledger_.find_job(selections[0].job), selections[0]);
  return changed;
}

Result<Changed> Controller::accept_retry(const Selection& selection) {
  const bool live = ledger_.find_job(selection.job) != nullptr;
  if (!live) {
    const Result<JobRow> row = store_.load_job(selection.job);
    if (!row)
      return row.error().code == ErrorCode::kNotFound ? no_such_job(selection.job) : row.error();
    const Result<JobSpec> spec = store_.load_spec(selection.job);
    if (!spec) return spec.error();
    const Result<std::vector<TaskRow>> tasks = store_.load_tasks(selection.job);
    if (!tasks) return tasks.error();
    ledger_.restore_job(*row, facts_of(selection.job, *spec), *tasks);
  }
  const Job& job = *ledger_.find_job(selection.job);
  if (const Result<void> known = check_tasks(job, selection); !known) {
    if (!live) ledger_.retire({selection.job});
    return known.error();
  }
  std::uint64_t tasks = 0;
  if (selection.tasks.empty()) {
    for (const TaskState state : {TaskState::kFailed, TaskState::kCancelled, TaskState::kSkipped})
      tasks += job.counts[state];
  } else {
    for (const std::uint32_t index : selection.tasks)
      tasks += is_retryable(job.state_of(index)) ? 1 : 0;
  }
  if (tasks == 0) {
    const Error nothing = nothing_to_retry(job, selection);
    if (!live) ledger_.retire({selection.job});
    return nothing;
  }
  record(RetryRequested{selection.job, selection.tasks});
  return Changed{tasks, {selection.job}};
}

// ---- questions
// -----------------------------------------------------------------------------------

Result<Explanation> Controller::accept_explain(JobId id, std::uint32_t task) {
  const Job* job = ledger_.find_job(id);
  if (job == nullptr) {
    const Result<JobRow> row = store_.load_job(id);
    if (!row) return row.error().code == ErrorCode::kNotFound ? no_such_job(id) : row.error();
    if (task == kAnyTask) return Explanation{.job = id, .state = row->state};
    const Result<TaskState> state = final_state(*row, task);
    if (!state) return state.error();
    return Explanation{.job = id, .task = task, .state = *state};
  }
  const bool any = task == kAnyTask;
  if (any) {
    task = job->again.empty() ? job->next_fresh : job->again.back();
    for (std::uint32_t index = 0; index < job->tasks.count; ++index) {
      if (task < job->tasks.count && job->state_of(task) == TaskState::kQueued) break;
      task = index;
    }
  }
  if (task >= job->tasks.count)
    return not_found(fmt::format("job {} has {} tasks only", id.value, job->tasks.count));
  Explanation answer = tutti::explain(ledger_, id, task, now_);
  // Asked about the job, and none of its tasks waits.
  if (any && answer.state != TaskState::kQueued) answer.state = ledger_.state_of(*job);
  return answer;
}

// Of a task whose job has finished.
Result<TaskState> Controller::final_state(const JobRow& job, std::uint32_t task) {
  const auto rows = store_.load_tasks(job.id);
  if (!rows) return rows.error();
  const auto is_it = [&](const TaskRow& row) { return row.task.index == task; };
  const auto found = std::find_if(rows->begin(), rows->end(), is_it);
  return found == rows->end() ? job.rest : found->state;
}

std::vector<Node> Controller::present_nodes() const {
  std::vector<Node> nodes = ledger_.nodes();
  std::erase_if(nodes, [](const Node& node) { return node.state == Node::State::kGone; });
  return nodes;
}

Status Controller::current_status() const {
  const TaskCounts totals = ledger_.totals();
  return {.queued = totals[TaskState::kQueued],
          .placed = totals[TaskState::kPlaced],
          .running = totals[TaskState::kRunning],
          .nodes = present_nodes(),
          .last_pass = last_pass_,
          .rounds = rounds_,
          .trouble = last_trouble_};
}

}  // namespace tutti
