#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/units.h"
#include "core/model/ids.h"
#include "core/model/job_spec.h"
#include "core/model/node.h"
#include "core/model/outcome.h"
#include "core/model/profile.h"
#include "core/model/request.h"
#include "core/speed/speed_table.h"

namespace tutti {

// Events are facts: what has happened, in the order in which the controller learnt it. The ledger
// changes by events alone, and every event is journalled, so that replaying the journal gives the
// ledger again. Stored format: docs/formats/journal.md.

// What the ledger keeps of a JobSpec. The rest stays in the store until a task is launched.
struct JobFacts {
  JobId id;
  std::string user;
  std::string project;
  std::string kind;
  TaskSet tasks;
  Request request;
  std::vector<RankGroup> ranks;  // of a gang; empty otherwise
  std::int32_t priority = 0;
  Duration time_limit;
  RetryRule retry;
  std::vector<Dependency> after;
  bool lease = false;
  std::vector<NodeLimit> node_limits;
  ModelRun model;
  bool operator==(const JobFacts&) const = default;
};

JobFacts facts_of(JobId id, const JobSpec& spec);

struct JobSubmitted {
  JobFacts facts;
  bool operator==(const JobSubmitted&) const = default;
};

// A user wants these tasks to end; no task means all of the job's.
struct CancelRequested {
  JobId job;
  std::vector<std::uint32_t> tasks;
  bool operator==(const CancelRequested&) const = default;
};

// A user wants finished tasks to run once more; no task means every one that did not succeed.
struct RetryRequested {
  JobId job;
  std::vector<std::uint32_t> tasks;
  bool operator==(const RetryRequested&) const = default;
};

// An attempt was granted its allocation, or staged behind its lane's running attempts.
struct AttemptPlaced {
  AttemptId attempt;
  LaneId lane;
  bool staged = false;
  Allocation allocation;  // of a staged attempt: what it will inherit, devices empty
  bool operator==(const AttemptPlaced&) const = default;
};

struct AttemptStarted {
  AttemptId attempt;
  TimePoint started_at;  // by the node's clock
  std::int64_t pid = 0;
  // When that process started, in clock ticks since boot, where its executor says so: a number may
  // be used again.
  std::int64_t pid_birth = 0;
  bool operator==(const AttemptStarted&) const = default;
};

// Somebody ordered the attempt to stop; it still holds its allocation until it has ended.
struct StopOrdered {
  AttemptId attempt;
  Ending cause = Ending::kCancelled;
  bool operator==(const StopOrdered&) const = default;
};

struct AttemptEnded {
  AttemptId attempt;
  TimePoint started_at;  // zero if it never started
  TimePoint ended_at;
  Outcome outcome;
  // Its allocation is free again. False when a staged attempt of its lane took it over.
  bool released = true;
  bool operator==(const AttemptEnded&) const = default;
};

// An attempt uses more of a device than it was granted.
struct AttemptMeasured {
  AttemptId attempt;
  DeviceId device;
  MiB memory;
  bool operator==(const AttemptMeasured&) const = default;
};

// A user replaced what is known of a kind, or wants it forgotten.
struct ProfileChanged {
  std::string kind;
  std::optional<Profile> profile;  // nothing: forgotten
  bool operator==(const ProfileChanged&) const = default;
};

// What was measured of a cell, or that it be forgotten.
struct SpeedChange {
  SpeedCell cell;
  std::optional<Speed> speed;  // nothing: forgotten
  bool operator==(const SpeedChange&) const = default;
};

// Speeds were measured or imported.
struct SpeedsChanged {
  std::vector<SpeedChange> changes;
  bool operator==(const SpeedsChanged&) const = default;
};

// A node appeared or its size, labels or devices changed.
struct NodeChanged {
  Node node;  // what is free of it is not part of the fact
  bool operator==(const NodeChanged&) const = default;
};

struct NodeStateChanged {
  NodeId node;
  Node::State state = Node::State::kUp;
  std::string reason;
  bool operator==(const NodeStateChanged&) const = default;
};

using EventBody = std::variant<JobSubmitted, CancelRequested, RetryRequested, AttemptPlaced,
                               AttemptStarted, StopOrdered, AttemptEnded, NodeChanged,
                               NodeStateChanged, AttemptMeasured, ProfileChanged, SpeedsChanged>;

// A fact and when the controller learnt it.
struct Event {
  TimePoint at;
  EventBody body;
  bool operator==(const Event&) const = default;
};

// The name that the journal, the event stream and docs use, such as "attempt_ended".
const char* event_name(const EventBody& body);

}  // namespace tutti
