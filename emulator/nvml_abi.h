#pragma once

// What of NVML's binary interface the emulator serves: numbers and layouts, under names of our own.

namespace tutti::nvml {

enum Return : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kGpuIsLost = 15,
  kArgumentVersionMismatch = 25,
  kUnknown = 999,
};

// Opaque to clients. The emulator points it into a table of its own.
using Device = void*;

// nvmlMemory_t.
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

// nvmlMemory_v2_t. The caller sets `version` to kMemoryV2.
struct MemoryV2 {
  unsigned int version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
inline constexpr unsigned int kMemoryV2 = sizeof(MemoryV2) | 2u << 24;

// nvmlUtilization_t, in percent.
struct Utilization {
  unsigned int gpu;
  unsigned int memory;
};

// nvmlPciInfo_t. The first two versions of the function end before `bus_id`.
struct PciAddress {
  char bus_id_legacy[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pci_device_id;
  unsigned int pci_subsystem_id;
  char bus_id[32];
};

// nvmlProcessInfo_v1_t, for the list functions without a version.
struct ProcessV1 {
  unsigned int pid;
  unsigned long long used_memory;
};

// nvmlProcessInfo_v2_t and _v3.
struct ProcessV2 {
  unsigned int pid;
  unsigned long long used_memory;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};
inline constexpr unsigned int kNoInstance = ~0u;

// nvmlProcessUtilizationSample_t: microseconds since 1970 and percents.
struct ProcessSample {
  unsigned int pid;
  unsigned long long time;
  unsigned int sm;
  unsigned int memory;
  unsigned int encoder;
  unsigned int decoder;
};

enum Clock : unsigned int { kClockGraphics = 0, kClockSm = 1, kClockMemory = 2, kClockVideo = 3 };

enum TemperatureThreshold : unsigned int {
  kThresholdShutdown = 0,
  kThresholdSlowdown = 1,
  kThresholdMemoryMax = 2,
  kThresholdGpuMax = 3,
};

inline constexpr unsigned int kErrorCorrected = 0;
inline constexpr unsigned int kErrorUncorrected = 1;

inline constexpr unsigned long long kThrottleGpuIdle = 0x1;
inline constexpr unsigned long long kThrottleHwSlowdown = 0x8;
inline constexpr unsigned long long kThrottleHwThermal = 0x40;

static_assert(sizeof(MemoryV2) == 40 && sizeof(PciAddress) == 68 && sizeof(ProcessV1) == 16 &&
              sizeof(ProcessV2) == 24 && sizeof(ProcessSample) == 32);

}  // namespace tutti::nvml
