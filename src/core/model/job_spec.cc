#include "core/model/job_spec.h"

namespace tutti {

std::optional<std::uint32_t> TaskSet::index_of(std::int64_t label) const {
  if (step == 0 || (label - first) % step != 0) return std::nullopt;
  const std::int64_t index = (label - first) / step;
  if (index < 0 || index >= static_cast<std::int64_t>(count)) return std::nullopt;
  return static_cast<std::uint32_t>(index);
}

const char* when_name(Dependency::When when) {
  switch (when) {
    case Dependency::When::kSuccess:
      return "success";
    case Dependency::When::kAny:
      return "any";
    case Dependency::When::kFailure:
      return "failure";
  }
  return "success";
}

bool is_met(Dependency::When when, TaskState state) {
  switch (when) {
    case Dependency::When::kSuccess:
      return state == TaskState::kSucceeded;
    case Dependency::When::kFailure:
      return state == TaskState::kFailed;
    case Dependency::When::kAny:
      return true;
  }
  return false;
}

}  // namespace tutti
