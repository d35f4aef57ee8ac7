#include "core/lifecycle/event.h"

#include <array>

namespace tutti {

JobFacts facts_of(JobId id, const JobSpec& spec) {
  std::vector<RankGroup> ranks;
  for (const WorkerGroup& group : spec.gang.workers) ranks.push_back(group.ranks);
  return {.id = id,
          .user = spec.user,
          .project = spec.project,
          .kind = spec.kind,
          .tasks = spec.tasks,
          .request = spec.request,
          .ranks = std::move(ranks),
          .priority = spec.priority,
          .time_limit = spec.time_limit,
          .retry = spec.retry,
          .after = spec.after,
          .lease = spec.lease,
          .node_limits = spec.node_limits,
          .model = spec.model};
}

const char* event_name(const EventBody& body) {
  static constexpr std::array kNames = {
      "job_submitted",      "cancel_requested", "retry_requested", "attempt_placed",
      "attempt_started",    "stop_ordered",     "attempt_ended",   "node_changed",
      "node_state_changed", "attempt_measured", "profile_changed", "speeds_changed"};
  static_assert(kNames.size() == std::variant_size_v<EventBody>);
  return kNames[body.index()];
}

}  // namespace tutti
