// Memory and utilisation, of devices and of the processes on them.

#include <algorithm>
#include <ctime>

#include "emulator/nvml_session.h"

using namespace tutti;
using namespace tutti::emulator;

namespace {

// The driver measures in steps; within one, a client has seen everything there is.
constexpr unsigned long long kSampleMicroseconds = 20'000;

unsigned long long sample_time() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto microseconds = static_cast<unsigned long long>(now.tv_sec) * 1'000'000 +
                            static_cast<unsigned long long>(now.tv_nsec) / 1000;
  return microseconds / kSampleMicroseconds * kSampleMicroseconds;
}

// NVML does not know the utilisation of a GPU that is split, nor of its slices.
bool is_split(LockedGpus& gpus, int unit) {
  return gpus->units[gpus->units[unit].gpu].slices > 0;
}

void describe(LockedGpus&, const Holding& holding, nvml::ProcessV1& process) {
  process.pid = static_cast<unsigned int>(holding.pid);
  process.used_memory = holding.bytes;
}

void describe(LockedGpus& gpus, const Holding& holding, nvml::ProcessV2& process) {
  const int slice = gpus->units[holding.unit].slice;
  process.pid = static_cast<unsigned int>(holding.pid);
  process.used_memory = holding.bytes;
  process.gpu_instance = slice < 0 ? nvml::kNoInstance : static_cast<unsigned int>(slice) + 1;
  process.compute_instance = slice < 0 ? nvml::kNoInstance : 0;
}

// `count` comes in as the room there is and goes out as the number there are.
template <typename Process>
int compute_processes(nvml::Device device, unsigned int* count, Process* processes) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) -> int {
    if (count == nullptr || (*count > 0 && processes == nullptr)) return nvml::kInvalidArgument;
    unsigned int found = 0;
    for_each_holding(gpus, unit, [&](const Holding& holding) {
      if (found < *count) describe(gpus, holding, processes[found]);
      ++found;
    });
    const bool fits = found <= *count;
    *count = found;
    return fits ? nvml::kSuccess : nvml::kInsufficientSize;
  });
}

// Emulated GPUs draw nothing.
int graphics_processes(nvml::Device device, unsigned int* count) {
  return answer_for(device, [&](LockedGpus&, int) -> int {
    if (count == nullptr) return nvml::kInvalidArgument;
    *count = 0;
    return nvml::kSuccess;
  });
}

nvml::Memory memory_of(LockedGpus& gpus, int unit) {
  const unsigned long long total = gpus->units[unit].memory;
  const unsigned long long used = used_memory(gpus, unit);
  return {total, total - used, used};
}

}  // namespace

TUTTI_NVML nvmlDeviceGetMemoryInfo(nvml::Device device, nvml::Memory* memory) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) -> int {
    if (memory == nullptr) return nvml::kInvalidArgument;
    *memory = memory_of(gpus, unit);
    return nvml::kSuccess;
  });
}

TUTTI_NVML nvmlDeviceGetMemoryInfo_v2(nvml::Device device, nvml::MemoryV2* memory) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) -> int {
    if (memory == nullptr) return nvml::kInvalidArgument;
    if (memory->version != nvml::kMemoryV2) return nvml::kArgumentVersionMismatch;
    const nvml::Memory found = memory_of(gpus, unit);
    *memory = {nvml::kMemoryV2, found.total, 0, found.free, found.used};
    return nvml::kSuccess;
  });
}

TUTTI_NVML nvmlDeviceGetUtilizationRates(nvml::Device device, nvml::Utilization* utilization) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) -> int {
    if (utilization == nullptr) return nvml::kInvalidArgument;
    if (is_split(gpus, unit)) return nvml::kNotSupported;
    const unsigned int busy = std::min(total_demand(gpus, unit), 100u);
    *utilization = {busy, busy / 2};
    return nvml::kSuccess;
  });
}

TUTTI_NVML nvmlDeviceGetComputeRunningProcesses(nvml::Device device, unsigned int* count,
                                                nvml::ProcessV1* processes) {
  return compute_processes(device, count, processes);
}

TUTTI_NVML nvmlDeviceGetComputeRunningProcesses_v2(nvml::Device device, unsigned int* count,
                                                   nvml::ProcessV2* processes) {
  return compute_processes(device, count, processes);
}

TUTTI_NVML nvmlDeviceGetComputeRunningProcesses_v3(nvml::Device device, unsigned int* count,
                                                   nvml::ProcessV2* processes) {
  return compute_processes(device, count, processes);
}

TUTTI_NVML nvmlDeviceGetGraphicsRunningProcesses(nvml::Device device, unsigned int* count,
                                                 nvml::ProcessV1*) {
  return graphics_processes(device, count);
}

TUTTI_NVML nvmlDeviceGetGraphicsRunningProcesses_v2(nvml::Device device, unsigned int* count,
                                                    nvml::ProcessV2*) {
  return graphics_processes(device, count);
}

TUTTI_NVML nvmlDeviceGetGraphicsRunningProcesses_v3(nvml::Device device, unsigned int* count,
                                                    nvml::ProcessV2*) {
  return graphics_processes(device, count);
}

// One sample for each process that keeps the device busy, newer than the caller has seen. Where
// they ask for more than there is, each gets its part.
TUTTI_NVML nvmlDeviceGetProcessUtilization(nvml::Device device, nvml::ProcessSample* samples,
                                           unsigned int* count, unsigned long long last_seen) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) -> int {
    if (count == nullptr) return nvml::kInvalidArgument;
    if (is_split(gpus, unit)) return nvml::kNotSupported;
    const unsigned long long now = sample_time();
    const unsigned int room = samples == nullptr ? 0 : *count;
    unsigned int found = 0;
    unsigned int demand = 0;
    for_each_holding(gpus, unit, [&](const Holding& holding) {
      demand += holding.demand;
      if (holding.demand == 0 || now <= last_seen) return;
      if (found < room)
        samples[found] = {static_cast<unsigned int>(holding.pid), now, holding.demand, 0, 0, 0};
      ++found;
    });
    for (unsigned int i = 0; i < std::min(found, room); ++i) {
      samples[i].sm = samples[i].sm * 100 / std::max(demand, 100u);
      samples[i].memory = samples[i].sm / 2;
    }
    *count = found;
    if (found == 0) return nvml::kNotFound;
    return found <= room ? nvml::kSuccess : nvml::kInsufficientSize;
  });
}
