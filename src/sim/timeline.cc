#include "sim/timeline.h"

#include <algorithm>

namespace tutti {
namespace {

bool among(std::span<const JobId> jobs, JobId job) {
  return std::find(jobs.begin(), jobs.end(), job) != jobs.end();
}

}  // namespace

Timeline::Timeline(std::span<const Event> journal) {
  for (const Event& event : journal) {
    if (const auto* started = std::get_if<AttemptStarted>(&event.body)) {
      runs_[started->attempt] = {started->attempt, started->started_at, {}, {}};
    } else if (const auto* ended = std::get_if<AttemptEnded>(&event.body)) {
      if (!ended->started_at) continue;
      runs_[ended->attempt] = {ended->attempt, ended->started_at, ended->ended_at, ended->outcome};
    }
  }
}

std::optional<TimePoint> Timeline::first_start(std::span<const JobId> jobs) const {
  std::optional<TimePoint> first;
  for (const auto& [attempt, run] : runs_) {
    if (among(jobs, attempt.task.job) && (!first || run.started_at < *first))
      first = run.started_at;
  }
  return first;
}

std::optional<TimePoint> Timeline::last_end(std::span<const JobId> jobs) const {
  std::optional<TimePoint> last;
  for (const auto& [attempt, run] : runs_) {
    if (!among(jobs, attempt.task.job)) continue;
    if (!run.ended_at) return std::nullopt;
    if (!last || run.ended_at > *last) last = run.ended_at;
  }
  return last;
}

std::size_t Timeline::running_at(TimePoint time, std::span<const JobId> jobs) const {
  return static_cast<std::size_t>(std::count_if(runs_.begin(), runs_.end(), [&](const auto& entry) {
    const RunSpan& run = entry.second;
    return (jobs.empty() || among(jobs, run.attempt.task.job)) && run.started_at <= time &&
           (!run.ended_at || time < run.ended_at);
  }));
}

std::size_t Timeline::attempts_of(std::span<const JobId> jobs) const {
  return static_cast<std::size_t>(std::count_if(runs_.begin(), runs_.end(), [&](const auto& entry) {
    return among(jobs, entry.first.task.job);
  }));
}

}  // namespace tutti
