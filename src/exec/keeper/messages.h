#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/lifecycle/event.h"
#include "core/model/ids.h"
#include "core/model/outcome.h"
#include "core/model/request.h"
#include "core/spec/launch.h"
#include "exec/keeper/codec.h"

namespace tutti {

// The messages between an executor and the keeper of its node. Plain values; the bytes are those of
// docs/formats/keeper.md. A keeper outlives daemons: version n is spoken for as long as a keeper of
// that version may be running.
inline constexpr std::uint32_t kKeeperVersion = 2;
inline constexpr std::uint32_t kOldestKeeperVersion = 1;
// From this one on, keepers know CleanupOrder.
inline constexpr std::uint32_t kCleanupVersion = 2;

// ---- to the keeper

struct Hello {
  std::uint32_t version = kKeeperVersion;
  bool operator==(const Hello&) const = default;
};
// What the attempts of a job share; replaces an earlier one for attempts that start later.
struct ContextOrder {
  JobId job;
  std::string workdir;
  std::vector<std::string> env;
  MilliCpu cpus;  // zero: not limited
  MiB memory;     // zero: not limited
  Duration time_limit;
  Duration grace;
  bool operator==(const ContextOrder&) const = default;
};
struct DropContext {
  JobId job;
  bool operator==(const DropContext&) const = default;
};
// Comes before the Start of that attempt: what is executed when all processes of it are gone.
struct CleanupOrder {
  AttemptId attempt;
  std::vector<std::string> argv;
  bool operator==(const CleanupOrder&) const = default;
};
// Launch::cleanup is not part of it.
struct StartOrder {
  AttemptId attempt;
  LaneId lane;
  bool staged = false;
  Launch launch;
};
struct StopOrder {
  AttemptId attempt;
  Ending cause = Ending::kCancelled;
  bool operator==(const StopOrder&) const = default;
};
struct RecallOrder {
  AttemptId attempt;
  bool operator==(const RecallOrder&) const = default;
};
// These results are on disk: the keeper may forget them.
struct Ack {
  std::vector<AttemptId> ended;
  bool operator==(const Ack&) const = default;
};
struct ListOrder {
  bool operator==(const ListOrder&) const = default;
};
// Ends the keeper if it has nothing to keep; forced: ends what runs, too.
struct Quit {
  bool forced = false;
  bool operator==(const Quit&) const = default;
};
using ToKeeper = std::variant<Hello, ContextOrder, DropContext, StartOrder, StopOrder, RecallOrder,
                              Ack, ListOrder, Quit, CleanupOrder>;

// ---- from the keeper

struct Welcome {
  std::uint32_t version = kKeeperVersion;  // the one that both speak
  std::string incarnation;                 // 32 hexadecimal digits, new for every keeper process
  std::int64_t pid = 0;
  std::vector<std::string> cgroups;  // folders that hold its control groups, if it makes any
  bool operator==(const Welcome&) const = default;
};
// Everything that a controller must know to take over.
struct Listing {
  struct Staged {
    AttemptId attempt;
    LaneId lane;
    bool operator==(const Staged&) const = default;
  };
  struct Running {
    AttemptStarted started;
    LaneId lane;
    bool operator==(const Running&) const = default;
  };
  std::vector<Staged> staged;
  std::vector<Running> running;
  std::vector<AttemptEnded> ended;  // not acknowledged yet, oldest first
  bool operator==(const Listing&) const = default;
};
struct QuitRefused {
  std::string reason;
  bool operator==(const QuitRefused&) const = default;
};
using FromKeeper = std::variant<Welcome, Listing, AttemptStarted, AttemptEnded, QuitRefused>;

// Appends one frame.
void append_frame(std::string& out, const Hello& message);
void append_frame(std::string& out, const ContextOrder& message);
void append_frame(std::string& out, const DropContext& message);
void append_frame(std::string& out, const StartOrder& message);
void append_frame(std::string& out, const StopOrder& message);
void append_frame(std::string& out, const RecallOrder& message);
void append_frame(std::string& out, const Ack& message);
void append_frame(std::string& out, const ListOrder& message);
void append_frame(std::string& out, const Quit& message);
void append_frame(std::string& out, const CleanupOrder& message);
void append_frame(std::string& out, const Welcome& message);
void append_frame(std::string& out, const Listing& message);
void append_frame(std::string& out, const AttemptStarted& message);
void append_frame(std::string& out, const AttemptEnded& message);
void append_frame(std::string& out, const QuitRefused& message);

// kCorrupt: an unknown type, a value that is out of range, or bytes missing or left over.
Result<ToKeeper> decode_to_keeper(const Frame& frame);
Result<FromKeeper> decode_from_keeper(const Frame& frame);

// For tables by attempt.
struct AttemptHash {
  std::size_t operator()(const AttemptId& id) const {
    return std::hash<TaskId>()(id.task) * 31 + id.number;
  }
};

}  // namespace tutti
