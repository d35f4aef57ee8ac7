#include "control/prune_desk.h"

#include <optional>

namespace tutti {
namespace {

// Of one step: the controller does nothing else meanwhile.
constexpr std::uint64_t kTasksAtOnce = 1000;
constexpr std::size_t kJobsAtOnce = 200;
constexpr std::size_t kEnvironmentsAtOnce = 200;

// A step on its way. Shared with the reply, which may come when nobody waits any more.
struct Step {
  std::optional<Result<bool>> more;  // guarded by the desk's mutex
};

// A job that is there still was retried meanwhile.
Pruned told(const Prunable& chosen, const HomeFiles::Test& gone, const GoesOn& goes_on) {
  Pruned pruned{.unfinished = chosen.unfinished, .needed = chosen.needed, .recent = chosen.recent};
  for (const Prunable::Finished& job : chosen.jobs) {
    if (!goes_on()) break;
    if (!gone(job.id)) {
      ++pruned.unfinished;
      continue;
    }
    pruned.jobs.push_back(job.id);
    pruned.tasks += job.tasks;
  }
  return pruned;
}

}  // namespace

Error prune_was_stopped() {
  return {ErrorCode::kUnavailable,
          "the daemon was stopped in the middle of it: run 'tutti prune' once more"};
}

Files& Files::operator+=(const Files& other) {
  count += other.count;
  bytes += other.bytes;
  stuck += other.stuck;
  return *this;
}

void PruneDesk::prune(PruneRequest request, Reply<Pruned> reply) {
  {
    const std::lock_guard lock(mutex_);
    if (!stop_) {
      wanted_.emplace_back(std::move(request), std::move(reply));
      if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
      changed_.notify_all();
      return;
    }
  }
  reply(prune_was_stopped());
}

void PruneDesk::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  for (const auto& [request, reply] : std::exchange(wanted_, {})) reply(prune_was_stopped());
}

bool PruneDesk::is_stopped() {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void PruneDesk::run() {
  for (;;) {
    std::pair<PruneRequest, Reply<Pruned>> next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !wanted_.empty(); });
      if (stop_) return;
      next = std::move(wanted_.front());
      wanted_.pop_front();
    }
    next.second(carry_out(next.first));
  }
}

Result<Pruned> PruneDesk::carry_out(const PruneRequest& request) {
  const GoesOn goes_on = [this] { return !is_stopped(); };
  auto source = open_(goes_on);
  if (!source) return source.error();
  const Result<Prunable> chosen = (*source)->prunable(request);
  if (!chosen) return chosen.error();
  std::set<JobId> without;
  if (request.dry_run)
    for (const Prunable::Finished& job : chosen->jobs) without.insert(job.id);
  else if (Result<void> done = forget(chosen->jobs, request.before); !done)
    return done.error();
  const Result<Remaining> remaining = (*source)->remaining(without);
  if (!remaining) return remaining.error();
  if (!request.dry_run)
    if (Result<void> done = forget_rest(*remaining); !done) return done.error();

  const Removal removal{request.dry_run, goes_on};
  const auto gone = [&](JobId job) { return without.contains(job) || !(*source)->is_known(job); };
  Pruned pruned = told(*chosen, gone, goes_on);
  const Result<Files> of_jobs = files_.remove_of(gone, removal);
  if (!of_jobs) return of_jobs.error();
  const Result<Files> copies = files_.remove_snapshots(remaining->snapshots, removal);
  if (!copies) return copies.error();
  if (is_stopped()) return prune_was_stopped();
  pruned.files += *of_jobs;
  pruned.files += *copies;
  return pruned;
}

Result<void> PruneDesk::forget(const std::vector<Prunable::Finished>& jobs, TimePoint before) {
  PruneStep step{.before = before};
  std::uint64_t tasks = 0;
  for (const Prunable::Finished& job : jobs) {
    step.jobs.push_back(job.id);
    tasks += job.tasks;
    if (tasks < kTasksAtOnce && step.jobs.size() < kJobsAtOnce) continue;
    if (Result<void> done = take_step(step); !done) return done;
    step.jobs.clear();
    tasks = 0;
  }
  return step.jobs.empty() ? Result<void>() : take_step(step);
}

// What an interrupted prune has left, and environments that nobody has any more.
Result<void> PruneDesk::forget_rest(const Remaining& remaining) {
  for (const JobId job : remaining.halves)
    if (Result<void> done = take_step({.jobs = {job}}); !done) return done;
  PruneStep step{.newest = remaining.newest};
  for (const std::int64_t environment : remaining.environments) {
    step.environments.push_back(environment);
    const bool last = environment == remaining.environments.back();
    if (step.environments.size() < kEnvironmentsAtOnce && !last) continue;
    if (Result<void> done = take_step(step); !done) return done;
    step.environments.clear();
  }
  return {};
}

// Until nothing of it is left.
Result<void> PruneDesk::take_step(const PruneStep& step) {
  for (bool more = true; more;) {
    const auto taken = std::make_shared<Step>();
    front_.prune(step, [this, taken](Result<bool> answer) {
      const std::lock_guard lock(mutex_);
      taken->more = std::move(answer);
      changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stop_ || taken->more; });
    if (!taken->more) return prune_was_stopped();
    if (!*taken->more) return taken->more->error();
    more = **taken->more;
  }
  return {};
}

}  // namespace tutti
