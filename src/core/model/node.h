#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "core/model/ids.h"
#include "core/model/request.h"

namespace tutti {

// A GPU or a slice of one, with what is reserved on it.
struct Device {
  DeviceId id;
  std::string type;  // such as "A100-80G"
  std::string uuid;
  MiB memory;
  MiB reserved_memory;
  MilliGpu reserved_share;
  std::uint32_t holders = 0;  // attempts and leases that have it
  bool healthy = true;
  bool operator==(const Device&) const = default;
};

// A machine that runs attempts: its size, what is free of it, and whether it takes work.
struct Node {
  enum class State : std::uint8_t { kUp = 0, kDraining = 1, kDown = 2 };
  NodeId id;
  std::string name;
  State state = State::kUp;
  std::string state_reason;
  MilliCpu cpus;
  MiB memory;
  MilliCpu free_cpus;
  MiB free_memory;
  std::vector<Device> devices;
  std::vector<std::string> labels;  // sorted
  // Whether its executor keeps a backlog of short tasks and starts them without asking (Lane).
  bool keeps_backlog = false;
  bool operator==(const Node&) const = default;
};

const char* node_state_name(Node::State state);

// Whether `request` would fit the empty node; infeasible ("never") as opposed to unavailable.
bool could_ever_fit(const Node& node, const Request& request);

// Whether `request` fits what is free of the node now. Says nothing about the node's state.
bool fits_now(const Node& node, const Request& request);

// The grant for a request that fits now: the fullest devices that still suffice, ties by id.
Allocation grant(const Node& node, const Request& request);

void reserve(Node& node, const Request& request, const Allocation& allocation);
void release(Node& node, const Request& request, const Allocation& allocation);

}  // namespace tutti
