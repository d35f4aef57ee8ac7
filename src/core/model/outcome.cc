#include "core/model/outcome.h"

namespace tutti {

const char* ending_name(Ending ending) {
  switch (ending) {
    case Ending::kExited:
      return "exited";
    case Ending::kSignalled:
      return "signalled";
    case Ending::kTimeout:
      return "timeout";
    case Ending::kOutOfMemory:
      return "out_of_memory";
    case Ending::kCancelled:
      return "cancelled";
    case Ending::kLost:
      return "lost";
    case Ending::kNotStarted:
      return "not_started";
    case Ending::kRecalled:
      return "recalled";
    case Ending::kPreempted:
      return "preempted";
    case Ending::kDeviceOutOfMemory:
      return "gpu_out_of_memory";
    case Ending::kRankFailed:
      return "rank_failed";
  }
  return "unknown";
}

int exit_status(const Outcome& outcome) {
  switch (outcome.ending) {
    case Ending::kExited:
      return outcome.exit_code;
    case Ending::kDeviceOutOfMemory:
      return outcome.exit_code != 0 ? outcome.exit_code : 137;
    case Ending::kSignalled:
      return 128 + outcome.signal;
    case Ending::kTimeout:
      return 124;
    case Ending::kOutOfMemory:
      return 137;
    case Ending::kCancelled:
    case Ending::kPreempted:
    case Ending::kRankFailed:
      return 130;
    case Ending::kNotStarted:
      return outcome.exit_code != 0 ? outcome.exit_code : 127;
    case Ending::kLost:
    case Ending::kRecalled:
      return 125;
  }
  return 125;
}

}  // namespace tutti
