#include "core/model/node.h"

#include <algorithm>

#include "base/check.h"

namespace tutti {
namespace {

constexpr MilliGpu kWholeDevice{1000};
// Ports of neighbouring seeds lie apart.
constexpr std::uint64_t kPortStep = 16;
// A display server or a monitor that keeps a context open does not make a device unfit to be had
// alone.
constexpr MiB kIdleForeign{512};

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return lower(x) == lower(y);
  });
}

bool right_type(const Device& device, const DeviceRequest& wanted) {
  return is_of_type(device.type, wanted.type);
}

bool suffices_empty(const Device& device, const DeviceRequest& wanted) {
  return device.healthy && right_type(device, wanted) && wanted.memory <= device.memory;
}

MiB memory_of(const Device& device, const DeviceRequest& wanted) {
  if (wanted.whole()) return device.memory;
  if (wanted.memory.value > 0) return wanted.memory;
  return MiB(device.memory.value * wanted.share.value / kWholeDevice.value);
}

MilliGpu share_of(const DeviceRequest& wanted) {
  return wanted.whole() ? kWholeDevice : wanted.share;
}

MiB free_memory(const Device& device) {
  return device.memory - device.reserved_memory - device.foreign;
}

bool suffices_now(const Device& device, const DeviceRequest& wanted) {
  const bool whole = wanted.whole();
  // Most are in use when somebody waits: that is seen before types are compared.
  if ((whole && device.holders > 0) || !suffices_empty(device, wanted)) return false;
  if (whole) return device.foreign <= kIdleForeign;
  return memory_of(device, wanted) <= free_memory(device) &&
         device.reserved_share + wanted.share <= kWholeDevice &&
         device.reserved_share < kWholeDevice;
}

// Whether the work was meant for this node: elsewhere it runs only if its owner said so.
bool is_meant(const Node& node, const Request& request) {
  if (request.labels.empty()) return node.remote.address.empty();
  return std::all_of(request.labels.begin(), request.labels.end(),
                     [&](const std::string& label) { return has_label(node, label); });
}

// Whether the node's CPUs, memory and number of jobs leave room for it.
bool has_room(const Node& node, const Request& request) {
  return request.cpus <= node.free_cpus - node.foreign_cpus &&
         request.memory <= node.free_memory - node.foreign_memory &&
         (node.max_jobs == 0 || node.jobs < node.max_jobs) &&
         request.ports + node.ports.size() <= node.port_range.size() && is_meant(node, request);
}

// Free ports of the node, the first ones from where the seed says, in rising order.
std::vector<std::uint32_t> grant_ports(const Node& node, std::uint32_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> granted;
  const PortRange& range = node.port_range;
  const std::uint64_t begin = seed + node.port_origin;
  for (std::uint64_t i = 0; i < range.size() && granted.size() < count; ++i) {
    const auto port = range.first + static_cast<std::uint32_t>((begin + i) % range.size());
    if (!std::binary_search(node.ports.begin(), node.ports.end(), port)) granted.push_back(port);
  }
  return granted;
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

bool contains(std::span<const DeviceId> ids, DeviceId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// The part of a device that is left, by whichever of memory and compute is scarcer.
double left_of(const Device& device) {
  if (device.memory.value == 0) return 0;
  const double memory = static_cast<double>(std::max(free_memory(device), MiB()).value) /
                        static_cast<double>(device.memory.value);
  const double share =
      static_cast<double>((kWholeDevice - device.reserved_share).value) / kWholeDevice.value;
  return std::min(memory, share);
}

// The part of what is left of the device that the waiting work is expected not to be able to use.
double unusable(const Device& device, std::span<const DeviceDemand> demand) {
  double lost = 0;
  for (const DeviceDemand& one : demand) {
    if (right_type(device, one.wanted) && !suffices_now(device, one.wanted))
      lost += one.weight * left_of(device);
  }
  return lost;
}

void take(Device& device, const DeviceGrant& grant) {
  device.reserved_memory += grant.memory;
  device.reserved_share += grant.share;
  ++device.holders;
}

double growth(const Device& device, const DeviceRequest& wanted,
              std::span<const DeviceDemand> demand) {
  Device after = device;
  take(after, {device.id, memory_of(device, wanted), share_of(wanted)});
  return unusable(after, demand) - unusable(device, demand);
}

struct Candidate {
  const Device* device;
  double growth = 0;
};

std::vector<Candidate> candidates(const Node& node, const DeviceRequest& wanted,
                                  std::span<const DeviceId> kept,
                                  std::span<const DeviceDemand> demand) {
  std::vector<Candidate> found;
  const bool pack = wanted.packing == Packing::kPack;
  for (const Device& device : node.devices) {
    if (wanted.count > 0 && !contains(kept, device.id) && suffices_now(device, wanted))
      found.push_back({&device, pack ? growth(device, wanted, demand) : 0});
  }
  std::stable_sort(found.begin(), found.end(), [&](const Candidate& a, const Candidate& b) {
    if (a.growth != b.growth) return a.growth < b.growth;
    const double left_a = left_of(*a.device);
    const double left_b = left_of(*b.device);
    return pack ? left_a < left_b : left_a > left_b;
  });
  return found;
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
    case Node::State::kGone:
      return "gone";
  }
  return "unknown";
}

bool has_label(const Node& node, std::string_view label) {
  while (true) {
    const std::size_t bar = label.find('|');
    const std::string_view one = label.substr(0, bar);
    if (one == node.name || std::binary_search(node.labels.begin(), node.labels.end(), one))
      return true;
    if (bar == label.npos) return false;
    label.remove_prefix(bar + 1);
  }
}

bool is_of_type(std::string_view type, std::string_view wanted) {
  if (wanted.empty() || same_letters(type, wanted)) return true;
  return type.size() > wanted.size() && type[wanted.size()] == '-' &&
         same_letters(type.substr(0, wanted.size()), wanted);
}

bool could_ever_fit(const Node& node, const Request& request) {
  return node.state != Node::State::kGone && request.cpus <= node.cpus &&
         request.memory <= node.memory && request.ports <= node.port_range.size() &&
         is_meant(node, request) && enough_devices(node, request.devices, suffices_empty);
}

bool fits_now(const Node& node, const Request& request) {
  return has_room(node, request) && enough_devices(node, request.devices, suffices_now);
}

bool fits_beside(const Node& node, const Request& request, std::span<const DeviceId> kept) {
  if (kept.empty()) return fits_now(node, request);
  return has_room(node, request) &&
         enough_devices(node, request.devices,
                        [&](const Device& device, const DeviceRequest& wanted) {
                          return !contains(kept, device.id) && suffices_now(device, wanted);
                        });
}

bool is_taken_by_others(const Device& device, MiB granted) {
  return device.foreign > kIdleForeign && granted > free_memory(device);
}

std::uint32_t devices_now(const Node& node, const DeviceRequest& wanted) {
  return static_cast<std::uint32_t>(
      std::count_if(node.devices.begin(), node.devices.end(),
                    [&](const Device& device) { return suffices_now(device, wanted); }));
}

Allocation grant(const Node& node, const Request& request, std::span<const DeviceId> kept,
                 std::span<const DeviceDemand> demand, std::uint64_t port_seed) {
  Allocation allocation{.node = node.id, .cpus = request.cpus, .memory = request.memory};
  if (request.ports > 0) allocation.ports = grant_ports(node, request.ports, port_seed * kPortStep);
  if (request.devices.count == 0) return allocation;
  const std::vector<Candidate> found = candidates(node, request.devices, kept, demand);
  TUTTI_CHECK(found.size() >= request.devices.count);
  for (std::uint32_t i = 0; i < request.devices.count; ++i) {
    const Device& device = *found[i].device;
    allocation.devices.push_back(
        {device.id, memory_of(device, request.devices), share_of(request.devices)});
  }
  return allocation;
}

void reserve(Node& node, const Allocation& allocation) {
  node.free_cpus -= allocation.cpus;
  node.free_memory -= allocation.memory;
  ++node.jobs;
  for (const std::uint32_t port : allocation.ports)
    node.ports.insert(std::lower_bound(node.ports.begin(), node.ports.end(), port), port);
  for (const DeviceGrant& grant : allocation.devices) take(node.devices.at(grant.id.value), grant);
}

void release(Node& node, const Allocation& allocation) {
  node.free_cpus += allocation.cpus;
  node.free_memory += allocation.memory;
  TUTTI_CHECK(node.jobs > 0);
  --node.jobs;
  for (const std::uint32_t port : allocation.ports) std::erase(node.ports, port);
  for (const DeviceGrant& grant : allocation.devices) {
    Device& device = node.devices.at(grant.id.value);
    device.reserved_memory -= grant.memory;
    device.reserved_share -= grant.share;
    TUTTI_CHECK(device.holders > 0);
    --device.holders;
  }
}

void carry_over_devices(const std::vector<Device>& before, std::vector<Device>& devices) {
  const bool held = std::any_of(before.begin(), before.end(),
                                [](const Device& device) { return device.holders > 0; });
  if (!held) return;
  std::vector<Device> fresh = std::move(devices);
  devices = before;
  for (Device& device : devices) {
    const auto it = std::find_if(fresh.begin(), fresh.end(),
                                 [&](const Device& one) { return one.uuid == device.uuid; });
    if (it == fresh.end()) {
      device.healthy = false;
      if (device.trouble.empty()) device.trouble = "is not there any more";
      continue;
    }
    it->id = device.id;
    it->reserved_memory = device.reserved_memory;
    it->reserved_share = device.reserved_share;
    it->holders = device.holders;
    device = std::move(*it);
    fresh.erase(it);
  }
  for (Device& device : fresh) {
    device.id = DeviceId(static_cast<std::uint32_t>(devices.size()));
    devices.push_back(std::move(device));
  }
}

}  // namespace tutti
