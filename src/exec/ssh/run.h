#pragma once

#include <cstdint>
#include <string>

#include "control/executor.h"
#include "exec/ssh/message.h"

namespace tutti {

// One stream of a run's output: how much of it is here.
struct RunOutput {
  std::string name;  // of the file in the run's folder there
  std::string path;  // here; empty: not wanted
  std::uint64_t size = 0;
  bool asked = false;
  bool complete = false;  // all that it ever wrote is here
  TimePoint next;         // when to look again while it runs
  Duration pause = seconds(1);
};

// What was seen of a run on the host's GPUs.
struct RunUse {
  std::int64_t samples = 0;
  MiB peak;               // of the GPU of which it had most
  std::int64_t busy = 0;  // thousandths of that GPU, summed over the samples
};

// An attempt on a host, from the order until its end is on disk.
struct Run {
  enum class Phase {
    kFiles,    // the host does not have its files yet
    kReady,    // to be sent
    kAsked,    // held: whether the host has all it needs
    kHeld,     // it has; it waits for its release
    kSent,     // no answer yet
    kRunning,  // it has a process
    kOutput,   // it has ended, its output is being fetched
    kResults,  // then its results
    kTold,     // its end was reported
  };
  StartAttempt order;
  Phase phase = Phase::kReady;
  TimePoint started_at;
  TimePoint tell_start_at;  // when its start is reported, unless it has ended by then; zero: it was
  std::int64_t pid = 0;
  Ending stop_cause = Ending::kExited;  // kExited: no stop was ordered
  AgentEnd end;
  RunOutput out;
  RunOutput err;
  RunUse use;
  int tries = 0;        // of copying its files there, or its results here
  TimePoint try_at;     // when that is tried again; zero: it is under way, or need not be
  AttemptEnded told;    // what was reported
  bool lost = false;    // it was told to be lost, but may still run there
  std::string trouble;  // what else went wrong, for the user
};

// Writes bytes into the file at `path` from `offset` on; makes it and its folders if need be.
Result<void> write_output(const std::string& path, std::uint64_t offset, std::string_view bytes);
// How large a file is; zero if there is none.
std::uint64_t size_of_output(const std::string& path);
// The last part of a file, for words that tell why it failed.
std::string tail_of_output(const std::string& path);

}  // namespace tutti
