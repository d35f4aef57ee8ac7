#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti::emulator {

inline constexpr int kMaxGpus = 64;
inline constexpr int kMaxSlices = 7;

// One GPU to be emulated, as a spec describes it. Plain value.
struct GpuDescription {
  std::string type;  // as written: "A100-80G"
  std::string name;  // as NVML says it: "NVIDIA A100-SXM4-80GB"
  int memory_gib = 0;
  int watts = 0;      // power limit
  int slices = 0;     // MIG slices; 0 when MIG is off
  int slice_gib = 0;  // memory of each slice
};

// Parses "2xA100-80G,RTX3090-24G,A100-80G/mig3x20G": items of [COUNTx]TYPE-MEMORYG[/migNxMEMORYG].
// A type that is not known by its marketing name is taken as it is written.
Result<std::vector<GpuDescription>> parse_gpu_spec(std::string_view spec);

}  // namespace tutti::emulator
