#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/lifecycle/event.h"

namespace tutti {

// One attempt that ran, as the journal tells it.
struct RunSpan {
  AttemptId attempt;
  TimePoint started_at;
  TimePoint ended_at;  // zero: it has not ended
  Outcome outcome;
};

// Who ran when, read from a journal: what scenarios and tests ask about. A value; refers to
// nothing.
class Timeline {
 public:
  explicit Timeline(std::span<const Event> journal);

  // Attempts that ran, by attempt.
  const std::map<AttemptId, RunSpan>& runs() const { return runs_; }
  // The first start and the last end of any of these jobs' attempts.
  std::optional<TimePoint> first_start(std::span<const JobId> jobs) const;
  std::optional<TimePoint> last_end(std::span<const JobId> jobs) const;
  // How many attempts ran at a moment; of all jobs if none is named.
  std::size_t running_at(TimePoint time, std::span<const JobId> jobs = {}) const;
  std::size_t attempts_of(std::span<const JobId> jobs) const;

 private:
  std::map<AttemptId, RunSpan> runs_;
};

}  // namespace tutti
