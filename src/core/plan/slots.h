#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace tutti {

// A GPU of a machine as it was measured, with what others use of it.
struct FreeGpu {
  std::uint32_t index = 0;
  MiB free_memory;
  MilliGpu busy;
};

// What is free of a machine as it was measured.
struct FreeMachine {
  MilliCpu idle_cpus;
  MiB free_memory;
  std::vector<FreeGpu> gpus;  // by index
};

// What one job of a batch takes.
struct SlotNeed {
  MilliCpu cpus;
  MiB memory;
  bool gpu = false;
  MiB gpu_memory;
  MilliGpu gpu_share;
  bool reserve_gpu = false;      // nobody else of the batch on its GPU
  bool reserve_machine = false;  // nobody else of the batch on the machine
};

// How many jobs of a batch a machine runs at once.
struct Slots {
  std::vector<std::optional<std::uint32_t>> gpus;  // one entry for each job: the GPU that it gets
  std::string limited_by;                          // why there is not one more
};

// How far compute may be overbooked: systems do well with a little too much work.
inline constexpr MilliCpu kCpuOverload{2000};
inline constexpr MilliGpu kGpuShareCap{1200};

// Gives one job after the other its part of the machine until the next does not fit: more than two
// cores too few, no memory, nothing reserved left, or no GPU with its memory free that stays at or
// below kGpuShareCap. The GPU is the least busy one that suffices; ties go to the smaller index. At
// most 1024 jobs, so that a need of nothing ends.
Slots count_slots(const FreeMachine& machine, const SlotNeed& need);

}  // namespace tutti
