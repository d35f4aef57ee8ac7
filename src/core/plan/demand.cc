#include "core/plan/demand.h"

#include <algorithm>

namespace tutti {
namespace {

// The least that is reserved for a kind whose runs used no memory to speak of: a driver's context.
constexpr MiB kLeastNeed{256};

struct Measured {
  MiB need;
  MiB peak;
  MiB floor;
  MilliGpu share;
  bool any = false;
};

// What was too little of each of several devices says nothing of more of them.
void include(const DeviceProfile& device, std::uint32_t had, const DeviceRequest& wanted,
             Measured& measured) {
  if (had >= wanted.count) measured.floor = std::max(measured.floor, device.floor);
  if (device.samples == 0) return;
  measured.any = true;
  measured.need = std::max(measured.need, device.need());
  measured.peak = std::max(measured.peak, device.peak());
  measured.share = std::max(measured.share, device.share);
}

// What was measured on the wanted type of device; if that was never met, on any.
Measured measured_of(const Profile* profile, const DeviceRequest& wanted) {
  Measured exact;
  Measured all;
  if (profile == nullptr) return all;
  for (const DeviceProfile& device : profile->devices()) {
    const Configuration had = device.devices();
    include(device, had.count, wanted, all);
    if (is_of_type(had.type, wanted.type)) include(device, had.count, wanted, exact);
  }
  return exact.any ? exact : all;
}

MiB largest_device(const DeviceRequest& wanted, std::span<const DeviceType> types) {
  MiB largest;
  for (const DeviceType& one : types) {
    if (is_of_type(one.type, wanted.type)) largest = std::max(largest, one.memory);
  }
  return largest;
}

}  // namespace

std::vector<DeviceType> device_types(std::span<const Node> nodes) {
  std::vector<DeviceType> types;
  for (const Node& node : nodes) {
    for (const Device& device : node.devices) {
      if (!device.healthy) continue;
      const auto it = std::find_if(types.begin(), types.end(),
                                   [&](const DeviceType& one) { return one.type == device.type; });
      if (it == types.end())
        types.push_back({device.type, device.memory});
      else
        it->memory = std::max(it->memory, device.memory);
    }
  }
  return types;
}

Demand demand_of(const Request& request, const Profile* profile,
                 std::span<const DeviceType> types) {
  Demand demand{.request = request};
  DeviceRequest& wanted = demand.request.devices;
  if (wanted.count == 0) return demand;
  const Measured measured = measured_of(profile, wanted);
  const bool unknown = request.devices.unknown();
  demand.measure = unknown && !measured.any;
  MiB memory = std::max(wanted.memory, measured.floor);
  if (wanted.memory.value == 0 && measured.any && wanted.sharing == Sharing::kAuto)
    memory = std::max({memory, measured.need, kLeastNeed});
  if (memory > wanted.memory) {
    const MiB largest = largest_device(wanted, types);
    if (largest.value > 0) memory = std::max(wanted.memory, std::min(memory, largest));
  }
  // A floor alone is no measurement: the task still runs alone, on a device of at least that size.
  if (demand.measure) wanted.sharing = Sharing::kNever;
  wanted.memory = memory;
  if (wanted.share.value == 0 && measured.any && wanted.sharing == Sharing::kAuto)
    wanted.share = std::min(measured.share, MilliGpu(1000));
  return demand;
}

Request with_floor(const Request& request, const Profile& profile,
                   std::span<const DeviceType> types) {
  Request raised = request;
  DeviceRequest& wanted = raised.devices;
  const MiB floor = measured_of(&profile, wanted).floor;
  if (wanted.count == 0 || floor <= wanted.memory) return raised;
  // Who has devices alone, because nothing is said of memory, still does.
  if (wanted.whole()) wanted.sharing = Sharing::kNever;
  const MiB largest = largest_device(wanted, types);
  wanted.memory = std::max(wanted.memory, largest.value > 0 ? std::min(floor, largest) : floor);
  return raised;
}

bool ran_out(const Request& request, const Profile* profile, std::span<const DeviceType> types) {
  const MiB largest = largest_device(request.devices, types);
  return largest.value > 0 && measured_of(profile, request.devices).floor > largest;
}

MiB unmet_need(const Request& request, const Profile* profile, std::span<const DeviceType> types) {
  if (request.devices.count == 0) return {};
  const MiB largest = largest_device(request.devices, types);
  const Measured measured = measured_of(profile, request.devices);
  // The margin is a wish; only what was used or missed is a need.
  const MiB need = std::max(measured.floor, measured.peak);
  return largest.value > 0 && need > largest ? need : MiB();
}

}  // namespace tutti
