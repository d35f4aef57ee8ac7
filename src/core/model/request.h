#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "core/model/ids.h"

namespace tutti {

// Whether a task may have its devices together with others.
enum class Sharing : std::uint8_t {
  kAuto = 0,   // as its numbers allow; without numbers, as what was measured of its kind allows
  kNever = 1,  // it has them to itself
};

// Which of several devices that suffice a task gets.
enum class Packing : std::uint8_t {
  kPack = 0,    // the one after which the rest is of most use to others
  kSpread = 1,  // the emptiest
};

// The GPUs that one task wants.
struct DeviceRequest {
  std::uint32_t count = 0;
  std::string type;  // empty: any type; "A100" means every A100, "A100-80G" that size alone
  MiB memory;        // of each device; zero: its part by share, or unknown
  MilliGpu share;    // of each device's compute; zero: not counted
  Sharing sharing = Sharing::kAuto;
  Packing packing = Packing::kPack;
  auto operator<=>(const DeviceRequest&) const = default;
  // It gets devices that nobody else has. So does what is not known: it has to be measured first.
  bool whole() const {
    return sharing == Sharing::kNever || (memory.value == 0 && share.value == 0);
  }
  // Only a measurement can tell how much of a device it needs.
  bool unknown() const {
    return count > 0 && sharing == Sharing::kAuto && memory.value == 0 && share.value == 0;
  }
};

// Devices that a task could run on: so many of that type, on one node.
struct Configuration {
  std::string type;
  std::uint32_t count = 0;
  auto operator<=>(const Configuration&) const = default;
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
  std::uint32_t ports = 0;  // TCP ports of the node that nobody else is given meanwhile
  // Several kinds and numbers of devices that would do; `devices` says then what they have in
  // common, with count and type of the first. Empty: `devices` alone.
  std::vector<Configuration> configurations;
  auto operator<=>(const Request&) const = default;
};

// A device of an allocation, and how much of it.
struct DeviceGrant {
  DeviceId id;
  MiB memory;
  MilliGpu share;
  bool operator==(const DeviceGrant&) const = default;
};

// What an attempt was granted. Held from the moment of the grant until the node proves it free.
struct Allocation {
  NodeId node;
  MilliCpu cpus;
  MiB memory;
  std::vector<DeviceGrant> devices;
  bool measuring = false;  // the first run of its kind, alone on its devices to be measured
  std::vector<std::uint32_t> ports;
  bool operator==(const Allocation&) const = default;
};

// The request with one of its configurations, and no others.
Request with_configuration(const Request& request, const Configuration& configuration);
// One for each configuration, in order; without any, the request itself.
std::vector<Request> variants_of(const Request& request);

// What an allocation or a request counts in fair share: a GPU, or 80 GiB of one, counts as sixteen
// CPUs.
MilliCpu weight_of(const Allocation& allocation);
MilliCpu weight_of(const Request& request);

}  // namespace tutti
