#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/lifecycle/event.h"
#include "core/model/ids.h"
#include "core/model/job_spec.h"
#include "core/model/node.h"
#include "core/model/outcome.h"
#include "core/spec/launch.h"

namespace tutti {

// Effects are orders to an executor.
struct StartAttempt {
  AttemptId attempt;
  LaneId lane;
  bool staged = false;
  Allocation allocation;
  std::vector<Device> devices;  // those of the allocation, as the ledger knows them
  std::shared_ptr<const LaunchContext> context;
  Launch launch;
  // Everything is made ready, AttemptReady is reported, and the command waits for ReleaseAttempt.
  // Ports of the allocation that somebody else has are a reason not to start.
  bool held = false;
};
// Every rank of the gang is ready: the command may begin. Nothing but its own reports follows.
struct ReleaseAttempt {
  AttemptId attempt;
  NodeId node;
};
// SIGTERM, the grace period, SIGKILL; to everything the attempt started. A staged attempt is taken
// out of its lane. Either way one AttemptEnded follows.
struct StopAttempt {
  AttemptId attempt;
  NodeId node;
  Ending cause = Ending::kCancelled;
};
// Takes back a staged attempt if it has not started: then AttemptEnded with Ending::kRecalled
// follows. If it has started, nothing follows but its own reports.
struct RecallAttempt {
  AttemptId attempt;
  NodeId node;
};
// Tells whoever the attempt belongs to, if anybody listens. Nothing follows.
struct WarnAttempt {
  AttemptId attempt;
  NodeId node;
  std::string message;
};
// A machine elsewhere was added, or its state is asked for again: the executor connects to it, and
// NodeStateChanged follows.
struct WatchNode {
  Node node;
};
// It was removed; nothing runs there. Nothing follows.
struct ForgetNode {
  NodeId node;
};
using Effect = std::variant<StartAttempt, StopAttempt, RecallAttempt, WarnAttempt, WatchNode,
                            ForgetNode, ReleaseAttempt>;

// An attempt that the ledger holds active when an executor is attached.
struct KnownAttempt {
  AttemptId id;
  Allocation allocation;
  bool lease = false;
  TimePoint started_at;  // zero: not known to have started
  std::int64_t pid = 0;
  std::int64_t pid_birth = 0;
  // On a node elsewhere: the order as it was, or would have been, given.
  std::optional<StartAttempt> order;
};

// What the ledger holds when an executor is attached.
struct Known {
  std::vector<KnownAttempt> attempts;  // active ones on its nodes, by id
  std::vector<Node> nodes;             // as they were when the last round was written
};

// What an executor found when it was asked after a restart: see Executor::attach.
struct Inventory {
  std::vector<NodeId> nodes;      // of which the list is complete
  std::vector<AttemptId> staged;  // taken and not yet started
  std::vector<AttemptStarted> running;
  // True when this is the same incarnation that took earlier orders: an attempt that it does not
  // know was then never received and may be ordered again. False: it is lost.
  bool same_incarnation = false;
};

// A held attempt lacks nothing but its release. Told again after attach() if it still waits.
struct AttemptReady {
  AttemptId attempt;
};

// Reports are what executors tell the controller.
using Report = std::variant<AttemptStarted, AttemptEnded, NodeChanged, NodeStateChanged, Inventory,
                            AttemptMeasured, AttemptReady>;

// Where adapters put their reports. Safe to call from any thread; never blocks for long.
class ReportSink {
 public:
  virtual ~ReportSink() = default;
  virtual void report(std::vector<Report> reports) = 0;
};

// Port: whatever runs attempts on one or more nodes (this machine, SSH, Slurm, …). The controller
// thread calls it; reports come back through the sink from any thread. Methods must not block on
// the network or on a child process.
class Executor {
 public:
  virtual ~Executor() = default;

  // Connects to what may still be running from before, and reports NodeChanged for every node and
  // then one Inventory.
  virtual Result<void> attach(const Known& known, ReportSink& sink) = 0;

  // Carries out orders, in order. Every StartAttempt is answered by exactly one AttemptEnded, even
  // when it could not be started.
  virtual void order(std::vector<Effect> effects) = 0;

  // Everything reported up to now is on disk: results may be forgotten.
  virtual void journalled(std::span<const AttemptId> ended) = 0;

  // Whether work waits for devices: while it does, what others do with them is looked at.
  virtual void await_devices(bool /*awaited*/) {}
};

}  // namespace tutti
