#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "control/store.h"
#include "core/lifecycle/event.h"
#include "core/model/ids.h"
#include "core/model/job_spec.h"
#include "core/model/node.h"
#include "core/model/profile.h"
#include "core/plan/reason.h"
#include "core/speed/speed_table.h"

namespace tutti {

// Commands are users' wishes. Every call returns at once, from any thread; the reply is called
// exactly once, and only after everything it acknowledges is on disk: later on the controller's
// thread, or, where that is quick, on the caller's before the call returns.
template <typename T>
using Reply = std::function<void(Result<T>)>;

// Which tasks of a job are meant; no task means all of them (cancel) or all that did not succeed
// (retry).
struct Selection {
  JobId job;
  std::vector<std::uint32_t> tasks;
};

// How a submission fared, or for a dry run how it would fare.
// Where a rank of a gang would run if it were started now, and what it would be told.
struct RankPlan {
  std::uint32_t rank = 0;
  std::string group;
  std::string node;
  std::vector<DeviceId> devices;
  std::vector<std::uint32_t> ports;
  std::vector<std::string> env;  // "NAME=value"; of the submitter's, what was set for the job
};

// What a submission did, or would do.
struct Submitted {
  std::vector<JobId> jobs;
  // Of a dry run, one for each spec.
  std::vector<Explanation> explanations;
  // Likewise; empty for what is no gang or has no room now, even if nothing else ran. Ranks that
  // wait for others of their group are left out.
  std::vector<std::vector<RankPlan>> plans;
};

// What a cancel or retry did.
struct Changed {
  std::uint64_t tasks = 0;  // how many tasks were affected
  std::vector<JobId> jobs;  // the jobs that had such tasks
};

// The live side of `status`: what only the controller knows.
struct Status {
  std::uint64_t queued = 0;  // tasks
  std::uint64_t placed = 0;
  std::uint64_t running = 0;
  std::vector<Node> nodes;  // with what is free now
  Duration last_pass;       // time that the last decide() took
  std::uint64_t rounds = 0;
  std::string trouble;  // why the last round could not be written; empty: it was
};

// Somebody who holds devices now.
struct DeviceHolder {
  AttemptId attempt;
  std::int64_t label = 0;  // of its task
  bool lease = false;
  std::string user;
  std::string kind;
  Allocation allocation;
  std::int64_t pid = 0;
};
// All of them, and the nodes whose devices they hold.
struct DeviceHolders {
  std::vector<Node> nodes;
  std::vector<DeviceHolder> holders;  // by attempt
};

using Profiles = std::vector<std::pair<std::string, Profile>>;  // by kind

// What the API can ask of the controller.
class Front {
 public:
  virtual ~Front() = default;
  virtual void submit(std::vector<JobSpec> specs, bool dry_run, Reply<Submitted> reply) = 0;
  virtual void cancel(std::vector<Selection> selections, Reply<Changed> reply) = 0;
  virtual void cancel_all(Reply<Changed> reply) = 0;
  virtual void retry(Selection selection, Reply<Changed> reply) = 0;
  // `task`: an index, or kAnyTask for the job's first waiting one.
  static constexpr std::uint32_t kAnyTask = UINT32_MAX;
  virtual void explain(JobId job, std::uint32_t task, Reply<Explanation> reply) = 0;
  virtual void status(Reply<Status> reply) = 0;
  virtual void set_node_state(std::string node, Node::State state, std::string reason,
                              Reply<Node> reply) = 0;
  // A machine elsewhere: its name, remote, labels and max_jobs are taken. kConflict if the name is.
  virtual void add_node(Node node, Reply<Node> reply) = 0;
  // How many attempts a machine elsewhere runs at once; zero: as many as fit.
  virtual void set_node_limit(std::string node, std::uint32_t max_jobs, Reply<Node> reply) = 0;
  // kConflict while attempts run there, unless `force`: then they are lost.
  virtual void remove_node(std::string name, bool force, Reply<Node> reply) = 0;
  virtual void device_holders(Reply<DeviceHolders> reply) = 0;
  virtual void profiles(Reply<Profiles> reply) = 0;
  // Replaces what is known of kinds; nothing: forgets it. kNotFound for a kind that nobody knows.
  virtual void set_profiles(std::vector<std::pair<std::string, std::optional<Profile>>> profiles,
                            Reply<Changed> reply) = 0;
  // The table of speeds.
  virtual void speeds(Reply<SpeedTable> reply) = 0;
  virtual void set_speeds(std::vector<SpeedChange> changes, Reply<Changed> reply) = 0;
  // Forgets what the step names and nobody needs (Store::prune); jobs that run again are left out.
  virtual void prune(PruneStep step, Reply<bool> reply) = 0;
};

// Port: told what a round changed, after it is on disk. Called by the thread that runs the round;
// must not block.
class Publisher {
 public:
  virtual ~Publisher() = default;
  virtual void published(const Round& round) = 0;
};

// Port: time. The daemon's is the system's; the simulator's is virtual.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() = 0;
};

}  // namespace tutti
