#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace tutti {

// How an attempt ended. The numbers are stored: append only.
enum class Ending : std::uint8_t {
  kExited = 0,             // by itself; see exit_code
  kSignalled = 1,          // by a signal that Tutti did not send
  kTimeout = 2,            // its time limit was over
  kOutOfMemory = 3,        // its memory limit was exceeded, or the node killed it for memory
  kCancelled = 4,          // a user's wish
  kLost = 5,               // nobody can say: its keeper or node is gone
  kNotStarted = 6,         // the command could not be started; see message
  kRecalled = 7,           // taken back before it started; does not count as an attempt
  kPreempted = 8,          // stopped by the scheduler; does not count against retries
  kDeviceOutOfMemory = 9,  // a device's memory did not suffice; counted apart from retries
  kRankFailed = 10,        // stopped because another rank of its gang has failed
};

inline constexpr Ending kLastEnding = Ending::kRankFailed;

// The lower-case name that JSON, tables and docs use.
const char* ending_name(Ending ending);

// The result of an attempt, as its executor reports it.
struct Outcome {
  Ending ending = Ending::kExited;
  int exit_code = 0;
  int signal = 0;
  Duration cpu_time;
  MiB peak_memory;
  // Of the device that it used most, summed over all its processes; if it was measured at all.
  bool device_measured = false;
  MiB device_memory;
  MilliGpu device_share;
  // It took nearly all of a device's memory at its start: a framework that does so by default.
  bool preallocates = false;
  std::string message;  // for the user, where the ending alone does not say enough
  bool succeeded() const { return ending == Ending::kExited && exit_code == 0; }
  bool operator==(const Outcome&) const = default;
};

// The status with which `tutti run` and `tutti wait` end for this outcome: the command's own code,
// 128 + signal, 124 for a time limit, 126/127 for a command that could not start, 137 for memory,
// 130 for cancelled, 125 for lost.
int exit_status(const Outcome& outcome);

}  // namespace tutti
