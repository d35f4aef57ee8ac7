#include "control/lease_desk.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "base/process_stat.h"

namespace tutti {
namespace {

constexpr char kCancelled[] = "the lease was cancelled";
constexpr char kGone[] = "the process that held it is gone";
constexpr char kHungUp[] = "the process that held it hung up without releasing it";

UniqueFd open_process(std::int64_t pid, std::int64_t birth) {
  UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  // After it was opened the number cannot go to another process unnoticed.
  const auto stat = process_stat(pid);
  if (fd && birth != 0 && (!stat || static_cast<std::int64_t>(stat->start_ticks) != birth))
    return {};
  return fd;
}

}  // namespace

LeaseDesk::~LeaseDesk() {
  stop_watching();
}

void LeaseDesk::stop_watching() {
  if (!watcher_.joinable()) return;
  const std::uint64_t one = 1;
  if (::write(stop_watch_.get(), &one, sizeof one) != sizeof one) std::abort();
  watcher_.join();
}

Result<void> LeaseDesk::attach(const Known& known, ReportSink& sink) {
  stop_watching();
  sink_ = &sink;
  std::vector<Report> reports;
  Known others{.nodes = known.nodes};
  bool watch = false;
  {
    const std::lock_guard lock(mutex_);
    for (const KnownAttempt& one : known.attempts) {
      if (!one.lease) {
        others.attempts.push_back(one);
        continue;
      }
      if (leases_.contains(one.id.task.job)) continue;  // its holder never left
      Lease& lease = leases_[one.id.task.job];
      lease.attempt = one.id;
      lease.started_at = one.started_at ? one.started_at : clock_.now();
      lease.orphan = true;
      lease.pid = one.pid;
      lease.pid_birth = one.pid_birth;
      lease.process = one.pid > 0 ? open_process(one.pid, one.pid_birth) : UniqueFd();
      watch = true;
    }
    for (const auto& [attempt, parting] : unacknowledged_) reports.emplace_back(parting.ended);
  }
  if (const Result<void> attached = behind_.attach(others, *this); !attached) return attached;
  if (!reports.empty()) sink.report(std::move(reports));
  if (watch) {
    stop_watch_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
    watcher_ = std::thread([this] { watch_processes(); });
  }
  return {};
}

void LeaseDesk::report(std::vector<Report> reports) {
  for (Report& report : reports) {
    auto* const inventory = std::get_if<Inventory>(&report);
    if (inventory == nullptr) continue;
    const std::lock_guard lock(mutex_);
    for (const auto& [id, lease] : leases_)
      inventory->running.push_back({lease.attempt, lease.started_at, lease.pid, lease.pid_birth});
  }
  sink_->report(std::move(reports));
}

// Only for leases of an earlier daemon: all others end with their connection.
void LeaseDesk::watch_processes() {
  for (;;) {
    std::vector<pollfd> polled = {{stop_watch_.get(), POLLIN, 0}};
    std::vector<JobId> leases;
    std::vector<JobId> gone;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [id, lease] : leases_) {
        if (!lease.orphan) continue;
        if (!lease.process) {
          gone.push_back(id);
        } else {
          polled.push_back({lease.process.get(), POLLIN, 0});
          leases.push_back(id);
        }
      }
    }
    for (const JobId id : gone)
      finish(id, {.ending = Ending::kLost, .message = kGone}, kGone, false);
    if (leases.empty() && gone.empty()) return;
    if (!gone.empty()) continue;
    if (::poll(polled.data(), polled.size(), -1) < 0) continue;
    if (polled[0].revents != 0) return;
    for (std::size_t i = 0; i < leases.size(); ++i) {
      if (polled[i + 1].revents != 0)
        finish(leases[i], {.ending = Ending::kLost, .message = kGone}, kGone, false);
    }
  }
}

void LeaseDesk::order(std::vector<Effect> effects) {
  std::vector<Effect> others;
  std::vector<std::function<void()>> calls;
  std::vector<JobId> stopped;
  {
    const std::lock_guard lock(mutex_);
    for (Effect& effect : effects) {
      if (auto* begin = std::get_if<StartAttempt>(&effect); begin && begin->context->lease) {
        start(std::move(*begin), calls);
        continue;
      }
      if (const auto* stop = std::get_if<StopAttempt>(&effect)) {
        if (leases_.contains(stop->attempt.task.job)) {
          stopped.push_back(stop->attempt.task.job);
          continue;
        }
        if (const auto it = waiting_.find(stop->attempt.task.job); it != waiting_.end()) {
          calls.emplace_back([holder = it->second] { holder->ended(kCancelled); });
          waiting_.erase(it);
          continue;
        }
      }
      if (const auto* warn = std::get_if<WarnAttempt>(&effect)) {
        const auto it = leases_.find(warn->attempt.task.job);
        if (it != leases_.end() && it->second.holder != nullptr)
          calls.emplace_back(
              [holder = it->second.holder, text = warn->message] { holder->warned(text); });
        continue;
      }
      others.push_back(std::move(effect));
    }
  }
  if (!others.empty()) behind_.order(std::move(others));
  for (const auto& call : calls) call();
  for (const JobId id : stopped) finish(id, {.ending = Ending::kCancelled}, kCancelled, true);
}

void LeaseDesk::start(StartAttempt order, std::vector<std::function<void()>>& calls) {
  const JobId id = order.attempt.task.job;
  Lease& lease = leases_[id];
  lease.attempt = order.attempt;
  lease.started_at = clock_.now();
  lease.pid = order.context->holder_pid;
  lease.pid_birth = order.context->holder_birth;
  lease.grant = {id, std::move(order.allocation), std::move(order.devices),
                 std::move(order.launch.env)};
  if (const auto it = waiting_.find(id); it != waiting_.end()) {
    lease.holder = std::move(it->second);
    waiting_.erase(it);
    calls.emplace_back([holder = lease.holder, grant = lease.grant] { holder->granted(grant); });
  }
}

void LeaseDesk::journalled(std::span<const AttemptId> ended) {
  std::vector<AttemptId> others;
  std::vector<Parting> over;
  {
    const std::lock_guard lock(mutex_);
    for (const AttemptId& attempt : ended) {
      if (auto node = unacknowledged_.extract(attempt)) {
        over.push_back(std::move(node.mapped()));
      } else {
        others.push_back(attempt);
      }
    }
  }
  if (!others.empty()) behind_.journalled(others);
  for (const Parting& parting : over) {
    if (parting.holder != nullptr) parting.holder->ended(parting.message);
    if (parting.done) parting.done();
  }
}

void LeaseDesk::wait_for(JobId id, std::shared_ptr<LeaseHolder> holder) {
  LeaseGrant grant;
  {
    const std::lock_guard lock(mutex_);
    const auto it = leases_.find(id);
    if (it == leases_.end()) {
      waiting_[id] = std::move(holder);
      return;
    }
    it->second.holder = holder;
    grant = it->second.grant;
  }
  holder->granted(grant);
}

bool LeaseDesk::let_go(JobId id, Outcome outcome, const std::string& message,
                       std::function<void()> done) {
  return finish(id, std::move(outcome), message, true, std::move(done));
}

bool LeaseDesk::abandon(JobId id) {
  {
    const std::lock_guard lock(mutex_);
    if (parting_) return true;
    const auto over = unacknowledged_.lower_bound({{id, 0}, 0});
    if (over != unacknowledged_.end() && over->first.task.job == id) return true;
    waiting_.erase(id);
  }
  return finish(id, {.ending = Ending::kLost, .message = kHungUp}, kHungUp, false);
}

void LeaseDesk::part() {
  const std::lock_guard lock(mutex_);
  parting_ = true;
}

bool LeaseDesk::finish(JobId id, Outcome outcome, const std::string& message, bool tell,
                       std::function<void()> done) {
  AttemptEnded ended;
  {
    const std::lock_guard lock(mutex_);
    const auto it = leases_.find(id);
    if (it == leases_.end()) return false;
    ended = {it->second.attempt, it->second.started_at, clock_.now(), std::move(outcome), true};
    unacknowledged_[ended.attempt] = {ended, tell ? std::move(it->second.holder) : nullptr, message,
                                      std::move(done)};
    leases_.erase(it);
  }
  sink_->report({ended});
  return true;
}

}  // namespace tutti
