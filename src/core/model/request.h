#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "core/model/ids.h"

namespace tutti {

// The GPUs that one task wants. With memory and share both zero it wants whole devices.
struct DeviceRequest {
  std::uint32_t count = 0;
  std::string type;  // empty: any type
  MiB memory;        // of each device
  MilliGpu share;    // of each device's compute
  auto operator<=>(const DeviceRequest&) const = default;
  bool whole() const { return memory.value == 0 && share.value == 0; }
};

// The resources that one task wants, all of them on one node. Equal requests are interchangeable:
// the scheduler groups pending work by them.
struct Request {
  MilliCpu cpus{1000};
  MiB memory;  // zero: no claim
  DeviceRequest devices;
  std::vector<std::string> labels;  // the node must carry all of them; sorted
  // Whether the user stated the number: what was stated is enforced as a limit, what was assumed is
  // only counted.
  bool limit_cpus = false;
  bool limit_memory = false;
  auto operator<=>(const Request&) const = default;
};

// What an attempt was granted. Held from the moment of the grant until the node proves it free.
struct Allocation {
  NodeId node;
  MilliCpu cpus;
  MiB memory;
  std::vector<DeviceId> devices;
  bool operator==(const Allocation&) const = default;
};

}  // namespace tutti
