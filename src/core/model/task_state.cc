#include "core/model/task_state.h"

namespace tutti {

const char* task_state_name(TaskState state) {
  switch (state) {
    case TaskState::kQueued:
      return "queued";
    case TaskState::kPlaced:
      return "starting";
    case TaskState::kRunning:
      return "running";
    case TaskState::kSucceeded:
      return "succeeded";
    case TaskState::kFailed:
      return "failed";
    case TaskState::kCancelled:
      return "cancelled";
    case TaskState::kSkipped:
      return "skipped";
  }
  return "unknown";
}

TaskState job_state(const TaskCounts& counts) {
  if (counts[TaskState::kRunning] > 0) return TaskState::kRunning;
  const bool some_final = counts[TaskState::kSucceeded] + counts[TaskState::kFailed] > 0;
  if (counts.unfinished() > 0) {
    if (some_final) return TaskState::kRunning;
    return counts[TaskState::kPlaced] > 0 ? TaskState::kPlaced : TaskState::kQueued;
  }
  if (counts[TaskState::kFailed] > 0) return TaskState::kFailed;
  if (counts[TaskState::kCancelled] > 0) return TaskState::kCancelled;
  if (counts[TaskState::kSkipped] > 0) return TaskState::kSkipped;
  return TaskState::kSucceeded;
}

}  // namespace tutti
