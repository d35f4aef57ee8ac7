#pragma once

#include <array>
#include <cstdint>

namespace tutti {

// Where a task stands. The numbers are stored: append only.
enum class TaskState : std::uint8_t {
  kQueued = 0,     // waits, for whatever reason
  kPlaced = 1,     // granted or staged; its executor has not said yet that it runs
  kRunning = 2,    //
  kSucceeded = 3,  // final from here on
  kFailed = 4,
  kCancelled = 5,
  kSkipped = 6,  // a job that it waited for ended otherwise than asked
};
inline constexpr std::size_t kTaskStates = 7;

const char* task_state_name(TaskState state);
inline bool is_final(TaskState state) {
  return state >= TaskState::kSucceeded;
}
inline bool is_active(TaskState state) {
  return state == TaskState::kPlaced || state == TaskState::kRunning;
}

// How many tasks of a job are in each state.
struct TaskCounts {
  std::array<std::uint32_t, kTaskStates> by_state{};
  std::uint32_t operator[](TaskState state) const {
    return by_state[static_cast<std::size_t>(state)];
  }
  std::uint32_t& operator[](TaskState state) { return by_state[static_cast<std::size_t>(state)]; }
  std::uint32_t active() const {
    return (*this)[TaskState::kPlaced] + (*this)[TaskState::kRunning];
  }
  std::uint32_t unfinished() const { return active() + (*this)[TaskState::kQueued]; }
  bool operator==(const TaskCounts&) const = default;
};

// The state of a whole job: queued before its first task starts, running until its last one ends,
// then failed if any failed, else cancelled if any was, else skipped if any was, else succeeded.
TaskState job_state(const TaskCounts& counts);

}  // namespace tutti
