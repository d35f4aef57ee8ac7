#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "core/model/ids.h"
#include "core/model/job_spec.h"
#include "core/model/request.h"
#include "core/model/task_state.h"

namespace tutti {

// Why a task does not start now. The names are part of the JSON interface.
enum class ReasonCode : std::uint8_t {
  kDependency,  // waits for `job`, which must end with `when`
  kBackoff,     // failed before; runs again at `until`
  kArrayLimit,  // `limit` tasks of its job run already
  kNodeLimit,   // its job runs `count` tasks on certain nodes, as many as it may there: `detail`
  kCpus,        // no node has `wanted` free: the best has `available` of `capacity`
  kMemory,      // likewise, MiB
  kDevices,     // likewise, whole or shared GPUs
  kJobs,        // the best node runs `available` attempts, as many as it may
  kBehind,      // `count` tasks come before it in the queue; `job` is the first of them
  kReserved,    // would fit, but the room is kept for `job`, which waits longer
  kNodes,       // every node that could run it is down or draining
  kRanks,       // of `wanted` ranks that start together `available` find room
  kRestarting,  // the other ranks of its gang have to stop first
  kShape,       // the policy of elastic jobs gives the devices to others until its next round
  kProfile,     // the first run of its kind, `detail`, is being measured: `job`, until `until`
  kStarting,    // nothing blocks it: it starts with the next round
};
const char* reason_name(ReasonCode code);

// One blocking cause, as data; which fields mean something depends on the code.
struct Reason {
  ReasonCode code = ReasonCode::kStarting;
  JobId job;
  Dependency::When when = Dependency::When::kSuccess;
  TimePoint until;
  std::int64_t wanted = 0;
  std::int64_t available = 0;
  std::int64_t capacity = 0;
  std::uint64_t count = 0;
  std::string node;    // the best node's name
  std::string detail;  // which devices, the kind, or a node's reason
  std::string more;    // of devices: which are left out and why
  bool operator==(const Reason&) const = default;
};

// A sentence for the user that names the cause and its numbers, without a full stop.
std::string text_of(const Reason& reason, TimePoint now);

// One of a job's configurations, as a user is told of it.
struct ConfigurationNote {
  Configuration configuration;
  std::string text;    // why it has its place in the list
  bool taken = false;  // it runs there, or would start there now
  bool operator==(const ConfigurationNote&) const = default;
};

// The answer to "why is it waiting, what would start it, and when will it start?"
struct Explanation {
  JobId job;
  std::uint32_t task = 0;  // the task that was asked about, or the first one that waits
  TaskState state = TaskState::kQueued;
  std::vector<Reason> reasons;        // every blocking cause; empty when it is not waiting
  std::vector<std::string> remedies;  // what would start it now, each enough by itself
  TimePoint expected_start_p50;       // zero: cannot be said
  TimePoint expected_start_p90;
  std::string basis;  // what the expectation rests on, in words
  // Of a job with several of them: the best first.
  std::vector<ConfigurationNote> configurations;
};

}  // namespace tutti
