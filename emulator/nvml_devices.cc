// Which devices there are and what they are called.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "emulator/nvml_session.h"

using namespace tutti;
using namespace tutti::emulator;

namespace {

int device_count(unsigned int* count) {
  return answer([&](LockedGpus& gpus) -> int {
    if (count == nullptr) return nvml::kInvalidArgument;
    *count = 0;
    while (gpu_at(gpus, static_cast<int>(*count)) >= 0) ++*count;
    return nvml::kSuccess;
  });
}

// A lost GPU still has its place in the order, but a handle of it cannot be had.
int give_handle(LockedGpus& gpus, int unit, nvml::Device* device) {
  if (device == nullptr) return nvml::kInvalidArgument;
  if (unit < 0 || fault_of(gpus, unit) == Fault::kVanished) return nvml::kNotFound;
  if (fault_of(gpus, unit) == Fault::kLost) return nvml::kGpuIsLost;
  *device = handle_of(unit);
  return nvml::kSuccess;
}

int handle_by_index(unsigned int index, nvml::Device* device) {
  return answer([&](LockedGpus& gpus) -> int {
    const int unit = index < kMaxGpus ? gpu_at(gpus, static_cast<int>(index)) : -1;
    return unit < 0 ? nvml::kInvalidArgument : give_handle(gpus, unit, device);
  });
}

int handle_by_bus(const char* text, nvml::Device* device) {
  return answer([&](LockedGpus& gpus) -> int {
    unsigned int domain = 0;
    unsigned int bus = 0;
    unsigned int slot = 0;
    if (text == nullptr) return nvml::kInvalidArgument;
    if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
      domain = 0;
      if (std::sscanf(text, "%x:%x", &bus, &slot) != 2) return nvml::kInvalidArgument;
    }
    for (int unit = 0; unit < gpus->unit_count; ++unit) {
      const Unit& gpu = gpus->units[unit];
      if (gpu.slice < 0 && domain == 0 && slot == 0 && static_cast<int>(bus) == gpu.bus)
        return give_handle(gpus, unit, device);
    }
    return nvml::kNotFound;
  });
}

int pci_address(nvml::Device device, nvml::PciAddress* address, bool with_long_id) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) -> int {
    if (address == nullptr) return nvml::kInvalidArgument;
    const auto bus = static_cast<unsigned int>(gpus->units[unit].bus);
    nvml::PciAddress found{};
    std::snprintf(found.bus_id_legacy, sizeof found.bus_id_legacy, "0000:%02X:00.0", bus);
    std::snprintf(found.bus_id, sizeof found.bus_id, "00000000:%02X:00.0", bus);
    found.bus = bus;
    found.pci_device_id = 0x20B210DE;
    found.pci_subsystem_id = 0x146310DE;
    std::memcpy(address, &found, with_long_id ? sizeof found : offsetof(nvml::PciAddress, bus_id));
    return nvml::kSuccess;
  });
}

}  // namespace

TUTTI_NVML nvmlDeviceGetCount(unsigned int* count) {
  return device_count(count);
}

TUTTI_NVML nvmlDeviceGetCount_v2(unsigned int* count) {
  return device_count(count);
}

TUTTI_NVML nvmlDeviceGetHandleByIndex(unsigned int index, nvml::Device* device) {
  return handle_by_index(index, device);
}

TUTTI_NVML nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml::Device* device) {
  return handle_by_index(index, device);
}

TUTTI_NVML nvmlDeviceGetHandleByUUID(const char* uuid, nvml::Device* device) {
  return answer([&](LockedGpus& gpus) -> int {
    if (uuid == nullptr) return nvml::kInvalidArgument;
    for (int unit = 0; unit < gpus->unit_count; ++unit) {
      if (std::strcmp(uuid, gpus->units[unit].uuid) == 0) return give_handle(gpus, unit, device);
    }
    return nvml::kNotFound;
  });
}

TUTTI_NVML nvmlDeviceGetHandleByPciBusId(const char* bus_id, nvml::Device* device) {
  return handle_by_bus(bus_id, device);
}

TUTTI_NVML nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvml::Device* device) {
  return handle_by_bus(bus_id, device);
}

TUTTI_NVML nvmlDeviceGetName(nvml::Device device, char* name, unsigned int size) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) {
    return give_text(name, size, gpus->units[unit].name);
  });
}

TUTTI_NVML nvmlDeviceGetUUID(nvml::Device device, char* uuid, unsigned int size) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) {
    return give_text(uuid, size, gpus->units[unit].uuid);
  });
}

TUTTI_NVML nvmlDeviceGetIndex(nvml::Device device, unsigned int* index) {
  return answer_number(device, index, [&](LockedGpus& gpus, int unit) {
    const int slice = gpus->units[unit].slice;
    return slice >= 0 ? slice : index_of(gpus, unit);
  });
}

TUTTI_NVML nvmlDeviceGetMinorNumber(nvml::Device device, unsigned int* number) {
  return answer_number(device, number,
                       [](LockedGpus& gpus, int unit) { return (gpus->units[unit].bus - 7) / 3; });
}

TUTTI_NVML nvmlDeviceGetPciInfo(nvml::Device device, nvml::PciAddress* address) {
  return pci_address(device, address, false);
}

TUTTI_NVML nvmlDeviceGetPciInfo_v2(nvml::Device device, nvml::PciAddress* address) {
  return pci_address(device, address, false);
}

TUTTI_NVML nvmlDeviceGetPciInfo_v3(nvml::Device device, nvml::PciAddress* address) {
  return pci_address(device, address, true);
}

TUTTI_NVML nvmlDeviceGetMigMode(nvml::Device device, unsigned int* current, unsigned int* pending) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) -> int {
    if (current == nullptr || pending == nullptr) return nvml::kInvalidArgument;
    if (gpus->units[unit].slice >= 0) return nvml::kNotSupported;
    *current = *pending = gpus->units[unit].slices > 0 ? 1 : 0;
    return nvml::kSuccess;
  });
}

TUTTI_NVML nvmlDeviceIsMigDeviceHandle(nvml::Device device, unsigned int* is_slice) {
  return answer_number(device, is_slice,
                       [](LockedGpus& gpus, int unit) { return gpus->units[unit].slice >= 0; });
}

// The most there may be, not how many there are: clients must cope with holes.
TUTTI_NVML nvmlDeviceGetMaxMigDeviceCount(nvml::Device device, unsigned int* count) {
  return answer_number(device, count, [](LockedGpus& gpus, int unit) {
    return gpus->units[unit].slices > 0 ? kMaxSlices : 0;
  });
}

TUTTI_NVML nvmlDeviceGetMigDeviceHandleByIndex(nvml::Device device, unsigned int index,
                                               nvml::Device* slice) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) -> int {
    if (slice == nullptr || index >= kMaxSlices) return nvml::kInvalidArgument;
    if (static_cast<int>(index) >= gpus->units[unit].slices) return nvml::kNotFound;
    *slice = handle_of(unit + 1 + static_cast<int>(index));
    return nvml::kSuccess;
  });
}

TUTTI_NVML nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvml::Device slice, nvml::Device* device) {
  return answer_for(slice, [&](LockedGpus& gpus, int unit) -> int {
    if (device == nullptr || gpus->units[unit].slice < 0) return nvml::kInvalidArgument;
    *device = handle_of(gpus->units[unit].gpu);
    return nvml::kSuccess;
  });
}

TUTTI_NVML nvmlDeviceGetGpuInstanceId(nvml::Device device, unsigned int* id) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) -> int {
    if (id == nullptr) return nvml::kInvalidArgument;
    if (gpus->units[unit].slice < 0) return nvml::kNotSupported;
    *id = static_cast<unsigned int>(gpus->units[unit].slice) + 1;
    return nvml::kSuccess;
  });
}

TUTTI_NVML nvmlDeviceGetComputeInstanceId(nvml::Device device, unsigned int* id) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) -> int {
    if (id == nullptr) return nvml::kInvalidArgument;
    if (gpus->units[unit].slice < 0) return nvml::kNotSupported;
    *id = 0;
    return nvml::kSuccess;
  });
}
