#pragma once

#include <compare>
#include <cstdint>
#include <functional>

#include "base/strong_int.h"

namespace tutti {

// A job's number. Jobs are numbered in the order of submission, so the smaller id is the older job.
using JobId = StrongInt<struct JobIdTag, std::uint64_t>;
// A node's number, in the order in which nodes were added. Zero is no node.
using NodeId = StrongInt<struct NodeIdTag, std::uint32_t>;
// A device's number within its node, in PCI bus order.
using DeviceId = StrongInt<struct DeviceIdTag, std::uint32_t>;
// A lane's number: see Lane in ledger.h. Zero is no lane.
using LaneId = StrongInt<struct LaneIdTag, std::uint64_t>;

// One rank, array element or batch line: its position in its job, counted from 0. What users see is
// the label that TaskSet derives from it.
struct TaskId {
  JobId job;
  std::uint32_t index = 0;
  auto operator<=>(const TaskId&) const = default;
};

// One run of a task. Attempts are numbered from 1; a report about an older number is refused.
struct AttemptId {
  TaskId task;
  std::uint32_t number = 0;
  auto operator<=>(const AttemptId&) const = default;
};

}  // namespace tutti

template <>
struct std::hash<tutti::TaskId> {
  std::size_t operator()(const tutti::TaskId& id) const noexcept {
    return std::hash<std::uint64_t>()(id.job.value * 0x9E3779B97F4A7C15u + id.index);
  }
};
