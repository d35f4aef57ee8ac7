#pragma once

// The part of NVML's binary interface that we use: numbers and layouts, as the library has them.
// Nothing of this leaves the files that talk to the library.
namespace tutti::nvml {

struct DeviceOpaque;
using Device = DeviceOpaque*;

// What every function returns.
enum Code : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kLibraryNotFound = 12,
  kGpuIsLost = 15,
  kResetRequired = 16,
};

inline constexpr unsigned kTemperatureOfDie = 0;
inline constexpr unsigned kSlowdownThreshold = 1;
inline constexpr unsigned kUncorrectedErrors = 1;
inline constexpr unsigned kVolatileCounter = 0;
inline constexpr unsigned long long kHardwareThermalSlowdown = 0x40;
inline constexpr unsigned long long kNotAvailable = ~0ULL;
inline constexpr unsigned kMigEnabled = 1;

// Bytes.
struct Memory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

// Percent of the last sampling period.
struct Utilization {
  unsigned gpu = 0;
  unsigned memory = 0;
};

struct PciPlace {
  char bus_id_legacy[16] = {};
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned device_id = 0;
  unsigned subsystem_id = 0;
  char bus_id[32] = {};
};

// An entry of the process lists without a version in their names.
struct ProcessV1 {
  unsigned pid = 0;
  unsigned long long used_memory = 0;
};

// An entry of the process lists _v2 and _v3.
struct ProcessV2 {
  unsigned pid = 0;
  unsigned long long used_memory = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

struct ProcessSample {
  unsigned pid = 0;
  unsigned long long timestamp = 0;  // microseconds
  unsigned sm = 0;                   // percent
  unsigned memory = 0;
  unsigned encoder = 0;
  unsigned decoder = 0;
};

static_assert(sizeof(Memory) == 24 && sizeof(PciPlace) == 68 && sizeof(ProcessV1) == 16 &&
              sizeof(ProcessV2) == 24 && sizeof(ProcessSample) == 32);

}  // namespace tutti::nvml
