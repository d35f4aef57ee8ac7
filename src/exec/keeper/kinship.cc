#include "exec/keeper/kinship.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace tutti {

Kinship::Kinship(const std::string& incarnation) : mark_("TUTTI_KEEPER=" + incarnation + ".") {}

Attempt* Kinship::reaped(pid_t pid) {
  const auto found = mains_.find(pid);
  if (found == mains_.end()) {
    if (helpers_.erase(pid) > 0) return nullptr;
    orphans_.erase(pid);
    stray_seen_ = true;
    return nullptr;
  }
  Attempt* const attempt = found->second;
  mains_.erase(found);
  draining_.push_back(attempt);
  return attempt;
}

std::vector<Attempt*> Kinship::settle(std::int64_t now_us) {
  std::vector<Attempt*> gone;
  if (draining_.empty()) return gone;
  for (Attempt* attempt : draining_) {
    attempt->left_over = attempt->respited = false;
    signal_group(*attempt, 0);
    stray_seen_ = stray_seen_ || !attempt->group_gone;
  }
  if (children_.cheap() || stray_seen_) chase_orphans(now_us);
  for (Attempt* attempt : draining_) end_rest(*attempt);
  const auto is_gone = [](const Attempt* a) { return a->group_gone && !a->left_over; };
  std::copy_if(draining_.begin(), draining_.end(), std::back_inserter(gone), is_gone);
  std::erase_if(draining_, is_gone);
  if (draining_.empty()) stray_seen_ = false;
  return gone;
}

void Kinship::signal_group(Attempt& attempt, int signal) const {
  // Once the group is gone its number may be somebody else's.
  if (attempt.group_gone) return;
  attempt.group_gone = kill(-attempt.pid, signal) != 0 && errno == ESRCH;
}

void Kinship::end_rest(Attempt& attempt) const {
  if (!attempt.respited) signal_group(attempt, SIGKILL);
  if (!attempt.cgroup) return;
  for (const pid_t pid : attempt.cgroup->members()) {
    attempt.left_over = true;
    if (!attempt.respited) kill(pid, SIGKILL);
  }
}

void Kinship::chase_orphans(std::int64_t now_us) {
  const std::vector<pid_t>& children = children_.read();
  if (children.size() == mains_.size() + helpers_.size()) return;
  for (const pid_t pid : children) {
    if (!mains_.contains(pid) && !helpers_.contains(pid)) chase(pid, now_us);
  }
}

void Kinship::chase(pid_t orphan, std::int64_t now_us) {
  if (const std::uint64_t serial = serial_of(orphan); serial != 0) {
    for (const auto& [pid, attempt] : mains_) {
      if (attempt->serial == serial) return;
    }
    for (Attempt* attempt : draining_) {
      if (attempt->serial != serial) continue;
      attempt->left_over = true;
      if (attempt->respite_until_us <= now_us || !reads_pipe(orphan)) continue;
      attempt->respited = true;
      return;
    }
    kill(orphan, SIGKILL);
    return;
  }
  // It left its session and has a new environment. It can only be of an attempt that is older than
  // itself: while one of those runs it may be that one's.
  const std::uint64_t born = start_ticks(orphan);
  for (const auto& [pid, attempt] : mains_) {
    if (attempt->started_ticks <= born) return;
  }
  for (Attempt* attempt : draining_) attempt->left_over = true;
  kill(orphan, SIGKILL);
}

std::uint64_t Kinship::serial_of(pid_t orphan) {
  if (const auto known = orphans_.find(orphan); known != orphans_.end()) return known->second;
  std::uint64_t serial = 0;
  const pid_t session = getsid(orphan);
  if (const auto main = mains_.find(session); main != mains_.end()) {
    serial = main->second->serial;
  }
  for (const Attempt* attempt : draining_) {
    if (serial == 0 && attempt->pid == session) serial = attempt->serial;
  }
  if (serial == 0) serial = serial_in_environment(orphan);
  if (serial != 0) orphans_.emplace(orphan, serial);
  return serial;
}

std::uint64_t Kinship::serial_in_environment(pid_t pid) const {
  const std::string value = environment_value(pid, mark_);
  std::uint64_t serial = 0;
  std::from_chars(value.data(), value.data() + value.size(), serial);
  return serial;
}

void Kinship::signal_all(const std::vector<std::pair<Attempt*, int>>& targets) const {
  if (targets.empty()) return;
  std::unordered_map<pid_t, int> by_session;
  std::unordered_map<std::uint64_t, int> by_serial;
  for (const auto& [attempt, signal] : targets) {
    if (attempt->group_gone) continue;
    kill(-attempt->pid, signal);
    // A stopped process would not notice.
    if (signal != SIGKILL) kill(-attempt->pid, SIGCONT);
    by_session.emplace(attempt->pid, signal);
    by_serial.emplace(attempt->serial, signal);
  }
  const pid_t self = getpid();
  for_each_process([&](pid_t pid) {
    if (pid == self) return;
    const pid_t session = getsid(pid);
    int signal = 0;
    if (const auto found = by_session.find(session); found != by_session.end()) {
      if (getpgid(pid) != session) signal = found->second;
    } else if (session > 0 && !mains_.contains(session)) {
      const auto marked = by_serial.find(serial_in_environment(pid));
      if (marked != by_serial.end()) signal = marked->second;
    }
    if (signal != 0) kill(pid, signal);
  });
  for (const auto& [attempt, signal] : targets) {
    if (!attempt->cgroup || signal != SIGKILL) continue;
    for (const pid_t pid : attempt->cgroup->members()) kill(pid, signal);
  }
}

std::vector<std::int64_t> Kinship::resident(const std::vector<Attempt*>& attempts) const {
  std::unordered_map<pid_t, std::size_t> place;
  for (std::size_t i = 0; i < attempts.size(); ++i) place.emplace(attempts[i]->pid, i);
  std::vector<std::int64_t> sums(attempts.size(), 0);
  for_each_process([&](pid_t pid) {
    const auto found = place.find(getsid(pid));
    if (found != place.end()) sums[found->second] += resident_kib(pid);
  });
  return sums;
}

}  // namespace tutti
