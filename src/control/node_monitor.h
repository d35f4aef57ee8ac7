#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "core/model/ids.h"

namespace tutti {

// A GPU of a measured node.
struct MeasuredGpu {
  std::uint32_t number = 0;  // as the machine counts its GPUs, also those that are not used
  MiB memory;
  MiB used;
  MilliGpu utilization;
  std::string uuid;
};

// What a machine elsewhere said of itself, others' use included.
struct NodeMeasurement {
  TimePoint at;
  MilliCpu cpus;
  MilliCpu busy;
  MiB memory;
  MiB available;
  std::vector<MeasuredGpu> gpus;
};

// Files on their way to a node elsewhere, or from there.
struct NodeTransfer {
  bool back = false;                  // results; otherwise files that attempts need there
  std::vector<JobId> jobs;            // that wait for it
  std::int64_t bytes = 0;             // so far
  std::optional<std::int64_t> total;  // nothing: not known
  Duration elapsed;                   // zero: it has not begun yet
};

// Port: the newest measurement of nodes elsewhere, and what is being copied. Safe from any thread;
// does not block.
class NodeMonitor {
 public:
  virtual ~NodeMonitor() = default;
  // Nothing: it was never measured, or is not one of those.
  virtual std::optional<NodeMeasurement> latest(NodeId node) const = 0;
  // What is being copied to it and from it, the oldest first.
  virtual std::vector<NodeTransfer> transfers(NodeId node) const = 0;
  // Asks for a new one, without waiting for it.
  virtual void measure_now(NodeId node) = 0;
};

}  // namespace tutti
