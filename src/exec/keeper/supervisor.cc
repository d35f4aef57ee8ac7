#include "exec/keeper/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "exec/keeper/wall_time.h"
#include "telemetry/monotonic.h"

namespace tutti {
namespace {

constexpr std::int64_t kRecheckUs = 20 * 1000;
// What is in a pipe is read in much less, unless the reader waits for something else.
constexpr std::int64_t kRespiteUs = 2 * 1000 * 1000;
constexpr std::int64_t kKillAgainUs = 250 * 1000;
constexpr std::int64_t kWatchUs = 1000 * 1000;
constexpr std::int64_t kCleanupUs = 30 * 1000 * 1000;

std::string span_text(Duration span) {
  const std::int64_t ms = span.value / 1000;
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

std::string memory_message(const Attempt& attempt) {
  return "exceeded its memory limit of " + std::to_string(attempt.context->order().memory.value) +
         " MiB";
}

}  // namespace

Supervisor::Supervisor(Launcher launcher, CgroupPool& cgroups, LimitsNote& limits,
                       const std::string& incarnation)
    : launcher_(std::move(launcher)), cgroups_(cgroups), limits_(limits), kinship_(incarnation) {}

void Supervisor::take(ContextOrder order) {
  const JobId job = order.job;
  contexts_[job] = std::make_shared<JobContext>(std::move(order));
}

void Supervisor::take(StartOrder order) {
  const AttemptId id = order.attempt;
  if (auto cleanup = cleanups_.extract(id); !cleanup.empty())
    order.launch.cleanup = std::move(cleanup.mapped());
  // A daemon that was restarted may order again what it does not know to have arrived.
  if (attempts_.contains(id) || results_.contains(id)) return;
  auto fresh = std::make_unique<Attempt>();
  fresh->order = std::move(order);
  if (const auto found = contexts_.find(id.task.job); found != contexts_.end()) {
    fresh->context = found->second;
  }
  Attempt& attempt = *attempts_.emplace(id, std::move(fresh)).first->second;
  const LaneId lane = attempt.order.lane;
  if (!lanes_.add(lane, id, attempt.order.staged)) {
    Outcome recalled;
    recalled.ending = Ending::kRecalled;
    report_end(attempt, recalled, false);
    attempts_.erase(id);
    return;
  }
  fill_lane(lane);
}

void Supervisor::fill_lane(LaneId lane) {
  while (const std::optional<AttemptId> next = lanes_.take_next(lane)) {
    start(*attempts_.at(*next));
  }
}

void Supervisor::start(Attempt& attempt) {
  if (!attempt.context) {
    Outcome unknown;
    unknown.ending = Ending::kNotStarted;
    unknown.exit_code = 126;
    unknown.message = "the keeper was not told what the job's attempts share";
    end(attempt, std::move(unknown));
    return;
  }
  attempt.serial = next_serial_++;
  attempt.started_ticks = ticks_now();
  attempt.started_at = wall_now();
  attempt.started_us = monotonic_us();
  const Launched launched = launch(attempt);
  if (launched.pid < 0) {
    attempt.started_at = TimePoint();
    Outcome failed;
    failed.ending = Ending::kNotStarted;
    failed.exit_code = launched.exit_code;
    failed.message = launched.message;
    end(attempt, std::move(failed));
    return;
  }
  attempt.pid = launched.pid;
  attempt.phase = Attempt::Phase::kRunning;
  kinship_.main_started(attempt);
  const Duration limit = attempt.context->order().time_limit;
  if (limit.value > 0) set_due(attempt, attempt.started_us + limit.value);
  append_frame(reports_, AttemptStarted{attempt.order.attempt, attempt.started_at, attempt.pid});
}

Launched Supervisor::launch(Attempt& attempt) {
  std::vector<int> entries;
  put_under_limits(attempt);
  if (attempt.cgroup) entries = attempt.cgroup->entries();
  Launched launched = launcher_.start(attempt.order, *attempt.context, attempt.serial, entries);
  if (launched.group_error != 0) {
    if (refuses_groups(launched.group_error)) cgroups_.refuse();
    CgroupPool::drop(std::move(attempt.cgroup));
    do_without_group(attempt, launched.message);
    launched = launcher_.start(attempt.order, *attempt.context, attempt.serial, {});
  }
  if (launched.pid > 0 && attempt.watched) {
    watched_.push_back(&attempt);
    if (watch_due_us_ == 0) watch_due_us_ = monotonic_us() + kWatchUs;
  }
  return launched;
}

// Gives it a control group, if it can be. Otherwise its memory is watched, if it is limited.
void Supervisor::put_under_limits(Attempt& attempt) {
  const ContextOrder& limits = attempt.context->order();
  if (limits.cpus.value == 0 && limits.memory.value == 0) return;
  attempt.watched = limits.memory.value > 0;
  if (!cgroups_.available()) return;
  Result<std::unique_ptr<Cgroup>> group = cgroups_.take(limits.cpus, limits.memory);
  if (!group) return do_without_group(attempt, group.error().message);
  attempt.cgroup = std::move(*group);
  attempt.watched = limits.memory.value > 0 && !attempt.cgroup->limits_memory();
  const std::string& fault = attempt.cgroup->fault();
  if (fault.empty()) return limits_.held();
  limits_.missed(attempt.order.attempt, "its CPU limit is only counted: " + fault);
}

// One failure says nothing of the next attempt, unless groups are refused as such.
void Supervisor::do_without_group(Attempt& attempt, const std::string& why) {
  attempt.watched = attempt.context->order().memory.value > 0;
  limits_.missed(attempt.order.attempt,
                 "its memory is checked once a second, its CPU limit only counted" +
                     std::string(cgroups_.available() ? "" : ", and so for all from now on") +
                     ": " + why);
}

void Supervisor::take(const StopOrder& order) {
  const auto found = attempts_.find(order.attempt);
  if (found == attempts_.end()) return;
  Attempt& attempt = *found->second;
  if (attempt.phase == Attempt::Phase::kWaiting) {
    withdraw(attempt, order.cause);
  } else if (attempt.phase == Attempt::Phase::kRunning) {
    stop(attempt, order.cause, attempt.context->order().grace);
  }
}

void Supervisor::take(const RecallOrder& order) {
  const auto found = attempts_.find(order.attempt);
  if (found == attempts_.end()) return;
  if (found->second->phase == Attempt::Phase::kWaiting) {
    withdraw(*found->second, Ending::kRecalled);
  }
}

void Supervisor::withdraw(Attempt& attempt, Ending ending) {
  lanes_.remove(attempt.order.lane, attempt.order.attempt);
  Outcome outcome;
  outcome.ending = ending;
  report_end(attempt, outcome, false);
  attempts_.erase(AttemptId(attempt.order.attempt));
}

void Supervisor::stop(Attempt& attempt, Ending cause, Duration grace) {
  attempt.cause = cause;
  const bool at_once = grace.value <= 0;
  attempt.phase = at_once ? Attempt::Phase::kKilling : Attempt::Phase::kStopping;
  set_due(attempt, monotonic_us() + (at_once ? kKillAgainUs : grace.value));
  to_signal_.emplace_back(&attempt, at_once ? SIGKILL : SIGTERM);
}

void Supervisor::end_all() {
  std::vector<Attempt*> waiting;
  for (const auto& [id, attempt] : attempts_) {
    if (attempt->phase == Attempt::Phase::kWaiting) waiting.push_back(attempt.get());
  }
  for (Attempt* attempt : waiting) withdraw(*attempt, Ending::kCancelled);
  for (const auto& [id, attempt] : attempts_) {
    attempt->respite_until_us = 0;
    if (attempt->phase == Attempt::Phase::kDraining) continue;
    if (attempt->phase == Attempt::Phase::kCleaning) continue;
    const bool stopped = attempt->phase != Attempt::Phase::kRunning;
    stop(*attempt, stopped ? attempt->cause : Ending::kCancelled, Duration());
  }
}

void Supervisor::send_signals() {
  kinship_.signal_all(to_signal_);
  to_signal_.clear();
}

void Supervisor::reap() {
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) break;
    Attempt* const attempt = kinship_.reaped(pid);
    if (const auto cleaner = cleaners_.extract(pid); !cleaner.empty()) complete(*cleaner.mapped());
    if (attempt == nullptr) continue;
    attempt->status = status;
    attempt->usage = usage;
    attempt->phase = Attempt::Phase::kDraining;
    if (attempt->cause == Ending::kExited) attempt->respite_until_us = monotonic_us() + kRespiteUs;
    set_due(*attempt, 0);
    if (attempt->watched) std::erase(watched_, attempt);
    std::erase_if(to_signal_, [&](const auto& target) { return target.first == attempt; });
  }
  settle();
}

void Supervisor::settle() {
  if (!kinship_.draining()) return;
  for (Attempt* attempt : kinship_.settle(monotonic_us())) {
    if (!begin_cleanup(*attempt)) complete(*attempt);
  }
  if (!kinship_.draining()) return;
  // Their ends are told by SIGCHLD; this is for what the kernel does not tell.
  const std::int64_t again = monotonic_us() + kRecheckUs;
  for (const auto& [id, attempt] : attempts_) {
    if (attempt->phase == Attempt::Phase::kDraining) set_due(*attempt, again);
  }
}

// True: its end is told when the command has ended.
bool Supervisor::begin_cleanup(Attempt& attempt) {
  if (attempt.order.launch.cleanup.empty()) return false;
  const pid_t pid = launcher_.start_cleanup(attempt.order, *attempt.context);
  if (pid < 0) return false;
  kinship_.helper_started(pid);
  cleaners_.emplace(pid, &attempt);
  attempt.cleaner = pid;
  attempt.phase = Attempt::Phase::kCleaning;
  set_due(attempt, monotonic_us() + kCleanupUs);
  return true;
}

// Nothing of it is left.
void Supervisor::complete(Attempt& attempt) {
  const LaneId lane = attempt.order.lane;
  end(attempt, outcome_of(attempt));
  fill_lane(lane);
}

void Supervisor::advance(std::int64_t now_us) {
  bool look_again = false;
  while (!due_.empty() && due_.begin()->first <= now_us) {
    Attempt& attempt = *due_.begin()->second;
    set_due(attempt, 0);
    switch (attempt.phase) {
      case Attempt::Phase::kRunning: {
        const ContextOrder& limits = attempt.context->order();
        attempt.message = "exceeded its time limit of " + span_text(limits.time_limit);
        stop(attempt, Ending::kTimeout, limits.grace);
        break;
      }
      case Attempt::Phase::kStopping:
      case Attempt::Phase::kKilling:
        stop(attempt, attempt.cause, Duration());
        break;
      case Attempt::Phase::kDraining:
        look_again = true;
        break;
      case Attempt::Phase::kCleaning:
        attempt.message = "its clean-up did not end within 30 s: a container may be left";
        kill(-attempt.cleaner, SIGKILL);
        break;
      case Attempt::Phase::kWaiting:
        break;
    }
  }
  if (watch_due_us_ != 0 && watch_due_us_ <= now_us) check_memory();
  send_signals();
  if (look_again) settle();
}

void Supervisor::check_memory() {
  const std::vector<std::int64_t> used = kinship_.resident(watched_);
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    Attempt& attempt = *watched_[i];
    if (attempt.phase != Attempt::Phase::kRunning) continue;
    if (used[i] <= attempt.context->order().memory.value * 1024) continue;
    attempt.message = memory_message(attempt);
    stop(attempt, Ending::kOutOfMemory, Duration());
  }
  watch_due_us_ = watched_.empty() ? 0 : monotonic_us() + kWatchUs;
}

std::int64_t Supervisor::next_due() const {
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  if (!due_.empty()) next = due_.begin()->first;
  if (watch_due_us_ != 0) next = std::min(next, watch_due_us_);
  return next;
}

void Supervisor::set_due(Attempt& attempt, std::int64_t due_us) {
  if (attempt.due_us != 0) due_.erase({attempt.due_us, &attempt});
  attempt.due_us = due_us;
  if (due_us != 0) due_.emplace(due_us, &attempt);
}

Outcome Supervisor::outcome_of(const Attempt& attempt) const {
  Outcome outcome;
  if (WIFEXITED(attempt.status)) outcome.exit_code = WEXITSTATUS(attempt.status);
  if (WIFSIGNALED(attempt.status)) outcome.signal = WTERMSIG(attempt.status);
  const rusage& used = attempt.usage;
  outcome.cpu_time = Duration((used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
                              used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  outcome.peak_memory = MiB((used.ru_maxrss + 1023) / 1024);
  outcome.message = attempt.message;
  if (attempt.cause != Ending::kExited) {
    outcome.ending = attempt.cause;
  } else if (attempt.status != 0 && attempt.cgroup && attempt.cgroup->killed_for_memory()) {
    outcome.ending = Ending::kOutOfMemory;
    outcome.message = memory_message(attempt);
  } else if (attempt.status != 0) {
    outcome.ending = launcher_.memory_ending(attempt.order, outcome.exit_code);
    if (outcome.ending == Ending::kOutOfMemory) outcome.message = memory_message(attempt);
    if (outcome.ending == Ending::kDeviceOutOfMemory) outcome.message = "ran out of GPU memory";
    if (outcome.ending == Ending::kExited && WIFSIGNALED(attempt.status))
      outcome.ending = Ending::kSignalled;
  }
  return outcome;
}

void Supervisor::end(Attempt& attempt, Outcome outcome) {
  set_due(attempt, 0);
  launcher_.clean_up(attempt.order);
  if (attempt.cgroup) cgroups_.give_back(std::move(attempt.cgroup));
  report_end(attempt, std::move(outcome), lanes_.end_one(attempt.order.lane));
  attempts_.erase(AttemptId(attempt.order.attempt));
}

void Supervisor::report_end(const Attempt& attempt, Outcome outcome, bool released) {
  AttemptEnded ended;
  ended.attempt = attempt.order.attempt;
  ended.started_at = attempt.started_at;
  // By the clock that does not jump, so that no attempt ends before it has started.
  ended.ended_at = attempt.started_at
                       ? attempt.started_at + Duration(monotonic_us() - attempt.started_us)
                       : wall_now();
  ended.outcome = std::move(outcome);
  ended.released = released;
  append_frame(reports_, ended);
  results_.emplace(attempt.order.attempt, std::pair(next_result_++, std::move(ended)));
}

void Supervisor::take(const Ack& ack) {
  for (const AttemptId& id : ack.ended) results_.erase(id);
}

Listing Supervisor::list() const {
  Listing listing;
  for (const auto& [id, attempt] : attempts_) {
    if (attempt->phase == Attempt::Phase::kWaiting) {
      listing.staged.push_back({id, attempt->order.lane});
    } else {
      listing.running.push_back({{id, attempt->started_at, attempt->pid}, attempt->order.lane});
    }
  }
  std::vector<const std::pair<std::uint64_t, AttemptEnded>*> results;
  for (const auto& [id, result] : results_) results.push_back(&result);
  std::sort(results.begin(), results.end(), [](auto* a, auto* b) { return a->first < b->first; });
  for (const auto* result : results) listing.ended.push_back(result->second);
  std::sort(listing.staged.begin(), listing.staged.end(),
            [](const auto& a, const auto& b) { return a.attempt < b.attempt; });
  std::sort(listing.running.begin(), listing.running.end(),
            [](const auto& a, const auto& b) { return a.started.attempt < b.started.attempt; });
  return listing;
}

}  // namespace tutti
