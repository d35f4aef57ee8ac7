#include "core/model/node.h"

#include <algorithm>

#include "base/check.h"

namespace tutti {
namespace {

constexpr MilliGpu kWholeDevice{1000};

bool right_type(const Device& device, const DeviceRequest& wanted) {
  return wanted.type.empty() || device.type == wanted.type;
}

bool suffices_empty(const Device& device, const DeviceRequest& wanted) {
  return device.healthy && right_type(device, wanted) && wanted.memory <= device.memory;
}

bool suffices_now(const Device& device, const DeviceRequest& wanted) {
  if (!suffices_empty(device, wanted)) return false;
  if (wanted.whole()) return device.holders == 0;
  return device.reserved_memory + wanted.memory <= device.memory &&
         device.reserved_share + wanted.share <= kWholeDevice &&
         device.reserved_share < kWholeDevice;
}

MiB memory_taken(const Device& device, const DeviceRequest& wanted) {
  return wanted.whole() ? device.memory : wanted.memory;
}

MilliGpu share_taken(const DeviceRequest& wanted) {
  return wanted.whole() ? kWholeDevice : wanted.share;
}

bool has_labels(const Node& node, const Request& request) {
  return std::includes(node.labels.begin(), node.labels.end(), request.labels.begin(),
                       request.labels.end());
}

template <typename Predicate>
bool enough_devices(const Node& node, const DeviceRequest& wanted, Predicate suffices) {
  if (wanted.count == 0) return true;
  if (node.devices.size() < wanted.count) return false;
  std::uint32_t found = 0;
  for (const Device& device : node.devices) {
    if (suffices(device, wanted) && ++found == wanted.count) return true;
  }
  return false;
}

}  // namespace

const char* node_state_name(Node::State state) {
  switch (state) {
    case Node::State::kUp:
      return "up";
    case Node::State::kDraining:
      return "draining";
    case Node::State::kDown:
      return "down";
  }
  return "unknown";
}

bool could_ever_fit(const Node& node, const Request& request) {
  return request.cpus <= node.cpus && request.memory <= node.memory && has_labels(node, request) &&
         enough_devices(node, request.devices, suffices_empty);
}

bool fits_now(const Node& node, const Request& request) {
  return request.cpus <= node.free_cpus && request.memory <= node.free_memory &&
         has_labels(node, request) && enough_devices(node, request.devices, suffices_now);
}

Allocation grant(const Node& node, const Request& request) {
  Allocation allocation{node.id, request.cpus, request.memory, {}};
  std::vector<const Device*> candidates;
  for (const Device& device : node.devices) {
    if (request.devices.count > 0 && suffices_now(device, request.devices))
      candidates.push_back(&device);
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Device* a, const Device* b) {
    return a->memory - a->reserved_memory < b->memory - b->reserved_memory;
  });
  TUTTI_CHECK(candidates.size() >= request.devices.count);
  for (std::uint32_t i = 0; i < request.devices.count; ++i)
    allocation.devices.push_back(candidates[i]->id);
  return allocation;
}

void reserve(Node& node, const Request& request, const Allocation& allocation) {
  node.free_cpus -= allocation.cpus;
  node.free_memory -= allocation.memory;
  TUTTI_CHECK(allocation.devices.size() == request.devices.count);
  for (const DeviceId id : allocation.devices) {
    Device& device = node.devices.at(id.value);
    device.reserved_memory += memory_taken(device, request.devices);
    device.reserved_share += share_taken(request.devices);
    ++device.holders;
  }
}

void release(Node& node, const Request& request, const Allocation& allocation) {
  node.free_cpus += allocation.cpus;
  node.free_memory += allocation.memory;
  for (const DeviceId id : allocation.devices) {
    Device& device = node.devices.at(id.value);
    device.reserved_memory -= memory_taken(device, request.devices);
    device.reserved_share -= share_taken(request.devices);
    TUTTI_CHECK(device.holders > 0);
    --device.holders;
  }
}

}  // namespace tutti
