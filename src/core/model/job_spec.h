#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "core/model/command.h"
#include "core/model/container.h"
#include "core/model/gang.h"
#include "core/model/ids.h"
#include "core/model/model_run.h"
#include "core/model/request.h"
#include "core/model/task_state.h"

namespace tutti {

// How many tasks a job has, what they are called and how many may run at once.
struct TaskSet {
  enum class Shape : std::uint8_t { kSingle = 0, kArray = 1, kBatch = 2, kGang = 3 };
  Shape shape = Shape::kSingle;
  std::uint32_t count = 1;
  std::int64_t first = 0;          // label of index 0
  std::int64_t step = 1;           // label difference of neighbours
  std::uint32_t max_parallel = 0;  // 0: no limit
  bool operator==(const TaskSet&) const = default;

  std::int64_t label(std::uint32_t index) const { return first + step * index; }
  // The index of a label, or nothing when no task has it.
  std::optional<std::uint32_t> index_of(std::int64_t label) const;
};

// "Start only after that job": with the result that it must have.
struct Dependency {
  enum class When : std::uint8_t { kSuccess = 0, kAny = 1, kFailure = 2 };
  JobId job;
  When when = When::kSuccess;
  bool operator==(const Dependency&) const = default;
};

// "success", "any", "failure".
const char* when_name(Dependency::When when);
// Whether a job that ended in `state` ended as asked.
bool is_met(Dependency::When when, TaskState state);

// When and how often a failed task runs again.
struct RetryRule {
  std::uint32_t max = 0;
  Duration backoff = seconds(1);  // doubled after each failure, at most ten minutes
  bool operator==(const RetryRule&) const = default;
};

// What comes back from a node elsewhere when a task has ended.
struct ResultRule {
  std::string folder;  // here; a pattern as for output, absolute; empty: nothing comes back
  std::vector<std::string> paths;  // of the task's work directory there, relative; "." is all of it
  bool operator==(const ResultRule&) const = default;
};

// At most so many tasks of a job at once on that node.
struct NodeLimit {
  std::string node;
  std::uint32_t tasks = 0;
  bool operator==(const NodeLimit&) const = default;
};

// Everything a user can say about a job, after parsing and before scheduling. It is stored as
// submitted and read again when a task is launched; the ledger keeps only what scheduling needs.
struct JobSpec {
  std::string name;
  std::string user;
  std::string project = "default";
  std::string kind;  // jobs of one kind are expected to behave alike; empty: derived from command
  Command command;
  std::vector<std::string> lines;  // of a batch, one command each; empty otherwise
  // of a batch read from a file: the number of each command's line; empty: the label
  std::vector<std::uint32_t> line_numbers;
  TaskSet tasks;
  Request request;  // of each task; those of a gang have their own
  ModelRun model;   // what it trains, for how fast that is where
  Gang gang;
  Container container;
  std::vector<NodeLimit> node_limits;  // sorted by node, each once; the other nodes have none
  std::int32_t priority = 0;
  Duration time_limit;           // zero: none
  Duration grace = seconds(10);  // between SIGTERM and SIGKILL
  RetryRule retry;
  std::vector<Dependency> after;
  std::string workdir;
  std::vector<std::string> env;  // "NAME=value", the whole environment of the submitter
  // Of `env`, what the user set for this job: a node elsewhere gets nothing else of it.
  std::vector<std::string> remote_env;
  ResultRule results;
  std::string stdout_pattern;  // empty: kept in Tutti's own folder
  std::string stderr_pattern;  // empty: kept in Tutti's own folder
  std::string snapshot;        // digest of the work directory's copy; empty: none
  // A lease: nothing is executed, a process that runs already gets the devices.
  bool lease = false;
  std::int64_t holder_pid = 0;    // of that process
  std::int64_t holder_birth = 0;  // when it started, in clock ticks since boot
  bool operator==(const JobSpec&) const = default;
};

}  // namespace tutti
