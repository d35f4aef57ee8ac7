// A libnvidia-ml.so.1 that says what a test tells it, however odd. Built twice: FAKE_NVML_OLD
// leaves out what drivers of long ago did not have.

#include "tests/support/fake_nvml.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;

struct ProcessV1 {
  unsigned pid;
  unsigned long long memory;
};
struct ProcessV2 {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};
struct Sample {
  unsigned pid;
  unsigned long long time;
  unsigned sm, memory, encoder, decoder;
};

unsigned index_of(const void* device) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(device) - 1);
}

}  // namespace

FAKE FakeNvmlWorld fake_nvml_world;
FakeNvmlWorld fake_nvml_world = {};

namespace {

FakeNvmlWorld& world = fake_nvml_world;

int code_of(const void* device) {
  return world.device_codes[index_of(device)];
}

template <typename Process>
int list(const void* device, unsigned* count, Process* out) {
  if (const int code = code_of(device)) return code;
  const unsigned room = *count;
  *count = world.listed_told != 0 ? world.listed_told : world.listed;
  if (room < world.listed) return kInsufficientSize;
  for (unsigned i = 0; i < world.listed; ++i) {
    out[i].pid = i + 100;
    out[i].memory = world.memory[i % 8];
  }
  return kSuccess;
}

}  // namespace

FAKE int nvmlShutdown() {
  ++world.shutdown_calls;
  return kSuccess;
}
FAKE int nvmlDeviceGetUUID(const void* device, char* text, unsigned size) {
  const unsigned index = index_of(device);
  if (world.uuid_codes[index] != 0) return world.uuid_codes[index];
  std::snprintf(text, size, "GPU-%u", index);
  return code_of(device);
}
FAKE int nvmlDeviceGetMemoryInfo(const void* device, unsigned long long* memory) {
  memory[0] = world.total;
  memory[1] = world.total - world.used;
  memory[2] = world.used;
  return code_of(device);
}

#ifdef FAKE_NVML_OLD

FAKE int nvmlInit() {
  ++world.init_calls;
  return world.init_code;
}
FAKE int nvmlDeviceGetCount(unsigned* count) {
  *count = world.count;
  return world.count_code;
}
FAKE int nvmlDeviceGetHandleByIndex(unsigned index, const void** device) {
  *device = reinterpret_cast<const void*>(std::uintptr_t{index} + 1);
  return kSuccess;
}
FAKE int nvmlDeviceGetComputeRunningProcesses(const void* device, unsigned* count, ProcessV1* out) {
  return list(device, count, out);
}

#else

FAKE int nvmlInit_v2() {
  ++world.init_calls;
  return world.init_code;
}
FAKE const char* nvmlErrorString(int code) {
  return code == 15 ? "GPU is lost" : code == 9 ? "Driver Not Loaded" : "Unknown Error\n";
}
FAKE int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = world.count;
  return world.count_code;
}
FAKE int nvmlDeviceGetHandleByIndex_v2(unsigned index, const void** device) {
  *device = reinterpret_cast<const void*>(std::uintptr_t{index} + 1);
  return kSuccess;
}
FAKE int nvmlDeviceGetName(const void* device, char* text, unsigned size) {
  // Not ended: as long as there is room.
  std::memset(text, 'x', size);
  std::memcpy(text, "NVIDIA T4\x01 ", 11);
  return code_of(device);
}
FAKE int nvmlDeviceGetUtilizationRates(const void* device, unsigned* rates) {
  rates[0] = world.utilization;
  rates[1] = 0;
  return code_of(device);
}
FAKE int nvmlDeviceGetComputeRunningProcesses_v3(const void* device, unsigned* count,
                                                 ProcessV2* out) {
  return list(device, count, out);
}
FAKE int nvmlDeviceGetGraphicsRunningProcesses_v2(const void* device, unsigned* count,
                                                  ProcessV2* out) {
  return list(device, count, out);
}
FAKE int nvmlDeviceGetProcessUtilization(const void* device, Sample* out, unsigned* count,
                                         unsigned long long since) {
  if (world.samples_code != 0) return world.samples_code;
  if (*count < world.samples) {
    *count = world.samples;
    return kInsufficientSize;
  }
  unsigned newer = 0;
  for (unsigned i = 0; i < world.samples; ++i) {
    if (world.sample_times[i] <= since) continue;
    out[newer++] = {world.sample_pids[i], world.sample_times[i], world.sample_percents[i], 0, 0, 0};
  }
  *count = newer;
  return newer == 0 ? 6 : code_of(device);
}
FAKE int nvmlDeviceGetTemperature(const void* device, unsigned, unsigned* celsius) {
  *celsius = world.celsius;
  return code_of(device);
}
FAKE int nvmlDeviceGetTemperatureThreshold(const void* device, unsigned, unsigned* celsius) {
  *celsius = 90;
  return code_of(device);
}
FAKE int nvmlDeviceGetTotalEccErrors(const void* device, unsigned, unsigned,
                                     unsigned long long* count) {
  *count = world.ecc;
  return code_of(device);
}
FAKE int nvmlDeviceGetRemappedRows(const void* device, unsigned* corrected, unsigned* uncorrected,
                                   unsigned* pending, unsigned* failed) {
  *corrected = *uncorrected = 0;
  *pending = world.rows_pending;
  *failed = world.rows_failed;
  return code_of(device);
}

#endif
