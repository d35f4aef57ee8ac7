#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "core/model/ids.h"

namespace tutti {

// What the agent on a host says: docs/design/0003-ssh.md. One struct for each kind of line.
struct AgentHello {
  std::string boot_id;
  bool has_rsync = false;
  bool knows_holes = false;  // its tar unpacks files with holes as such
  std::string client;        // who reached it, as an address; empty: not known
  std::string address;       // at which it was reached; empty: not known
  std::string root;          // absolute
};
// How an attempt ended there.
struct AgentEnd {
  int status = 0;  // as the shell's $?
  Duration ran;
  Duration cpu_time;
  bool has_output = false;
  bool has_errors = false;
  bool over_time = false;
  bool stopped = false;
};
// One of those that the agent finds at the start of a connection; AgentListEnd: there are no more.
struct AgentListed {
  enum class State { kRunning, kEnded, kGone };
  AttemptId attempt;
  State state = State::kGone;
  std::int64_t pid = 0;  // of a running one
  AgentEnd end;          // of one that ended
};
struct AgentListEnd {};
struct AgentBegun {
  AttemptId attempt;
  std::int64_t pid = 0;
};
// Nothing is missing for a start.
struct AgentReady {
  AttemptId attempt;
};
struct AgentEnded {
  AttemptId attempt;
  AgentEnd end;
};
struct AgentRefused {
  AttemptId attempt;
  std::string reason;
};
// Nothing can run there at all.
struct AgentUnusable {
  std::string reason;
};
// The size of the host and what of it is in use, by others too.
struct AgentLoad {
  MilliCpu cpus;
  MilliCpu busy;
  MiB memory;
  MiB available;
};
// A line of nvidia-smi's list of GPUs or of processes, a piece of rocm-smi's list of cards, a line
// of its list of processes, or why there is none.
struct AgentGpuLine {
  enum class Kind { kGpu, kProcess, kCard, kCardProcess, kNone };
  Kind kind = Kind::kNone;
  std::int64_t session = 0;  // of a process, if the line tells of one
  int status = 0;            // of kNone: nvidia-smi's exit status
  std::string text;
};
struct AgentProbeEnd {};
using AgentMessage =
    std::variant<AgentHello, AgentListed, AgentListEnd, AgentBegun, AgentEnded, AgentRefused,
                 AgentUnusable, AgentLoad, AgentGpuLine, AgentProbeEnd, AgentReady>;

// Strict: kCorrupt for anything that the agent cannot have written.
Result<AgentMessage> parse_agent_line(std::string_view line);

// "JOB.INDEX.NUMBER", as folders on hosts are named.
std::string attempt_key(AttemptId attempt);

}  // namespace tutti
