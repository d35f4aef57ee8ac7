#include "exec/local/roster.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace tutti {

void Roster::ordered(AttemptId attempt, LaneId lane, bool staged) {
  if (!attempts_.emplace(attempt, Entry{lane, {}, 0}).second) return;
  if (!staged) ++width_[lane];
}

void Roster::started(const AttemptStarted& started) {
  const auto found = attempts_.find(started.attempt);
  if (found == attempts_.end()) return;
  found->second.started_at = started.started_at;
  found->second.pid = static_cast<pid_t>(started.pid);
}

bool Roster::ended(const AttemptEnded& ended) {
  const auto found = attempts_.find(ended.attempt);
  if (found == attempts_.end()) return false;
  if (ended.released) {
    const auto width = width_.find(found->second.lane);
    if (width != width_.end() && --width->second == 0) width_.erase(width);
  }
  attempts_.erase(found);
  return true;
}

void Roster::restore(const Listing& listing) {
  clear();
  for (const Listing::Staged& one : listing.staged) ordered(one.attempt, one.lane, true);
  for (const Listing::Running& one : listing.running) {
    ordered(one.started.attempt, one.lane, false);
    started(one.started);
  }
}

void Roster::clear() {
  attempts_.clear();
  width_.clear();
}

std::vector<pid_t> Roster::sessions() const {
  std::vector<pid_t> pids;
  for (const auto& [attempt, entry] : attempts_) {
    if (entry.pid > 0) pids.push_back(entry.pid);
  }
  return pids;
}

std::vector<AttemptEnded> Roster::lose_all(TimePoint now, const std::string& why) {
  std::vector<AttemptId> all;
  for (const auto& [attempt, entry] : attempts_) all.push_back(attempt);
  return lose(std::move(all), {}, now, why);
}

std::vector<AttemptEnded> Roster::lose_unlisted(const Listing& listing, TimePoint now,
                                                const std::string& why) {
  std::unordered_set<AttemptId, AttemptHash> listed;
  Widths kept;
  for (const Listing::Staged& one : listing.staged) listed.insert(one.attempt);
  for (const Listing::Running& one : listing.running) {
    listed.insert(one.started.attempt);
    ++kept[one.lane];
  }
  std::vector<AttemptId> lost;
  for (const auto& [attempt, entry] : attempts_) {
    if (!listed.contains(attempt)) lost.push_back(attempt);
  }
  return lose(std::move(lost), kept, now, why);
}

std::vector<AttemptEnded> Roster::lose(std::vector<AttemptId> lost, const Widths& kept,
                                       TimePoint now, const std::string& why) {
  // Those that run hold the allocations; ties by id so that the answer is always the same.
  std::sort(lost.begin(), lost.end(), [this](const AttemptId& a, const AttemptId& b) {
    return std::tuple(!attempts_.at(a).started_at, a) < std::tuple(!attempts_.at(b).started_at, b);
  });
  std::vector<AttemptEnded> ends;
  for (const AttemptId& attempt : lost) {
    const Entry entry = attempts_.at(attempt);
    AttemptEnded end;
    end.attempt = attempt;
    end.started_at = entry.started_at;
    end.ended_at = std::max(now, entry.started_at);
    end.outcome.ending = Ending::kLost;
    end.outcome.message = why;
    const auto width = width_.find(entry.lane);
    const auto held = kept.find(entry.lane);
    end.released = width != width_.end() && width->second > (held == kept.end() ? 0 : held->second);
    ended(end);
    ends.push_back(std::move(end));
  }
  return ends;
}

bool SentContexts::use(JobId job, std::uint32_t group) {
  const auto [at, added] = entries_.try_emplace(job);
  Entry& entry = at->second;
  if (!added && entry.uses == 0) idle_.erase(entry.idle);
  ++entry.uses;
  return std::exchange(entry.group, group) != group || added;
}

std::optional<JobId> SentContexts::release(JobId job) {
  const auto found = entries_.find(job);
  // Attempts from before a restart of the daemon were never counted.
  if (found == entries_.end() || found->second.uses == 0) return std::nullopt;
  if (--found->second.uses > 0) return std::nullopt;
  found->second.idle = idle_.insert(idle_.end(), job);
  if (idle_.size() <= kMostIdle) return std::nullopt;
  const JobId oldest = idle_.front();
  idle_.pop_front();
  entries_.erase(oldest);
  return oldest;
}

void SentContexts::clear() {
  entries_.clear();
  idle_.clear();
}

}  // namespace tutti
