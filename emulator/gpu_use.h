#pragma once

#include <cstdint>
#include <string_view>

#include "emulator/gpu_file.h"

namespace tutti::emulator {

// What processes hold on a unit, and how they come by it. All functions see living processes only:
// what belongs to a dead one is dropped when it is looked at. `unit` is a place in GpuFile::units;
// of a GPU with MIG slices, the sums are over its slices.

// The unit with this index (in NVML's order, without vanished GPUs) or UUID; -1 when there is none.
int find_unit(LockedGpus& gpus, std::string_view device);

// The unit of the GPU with this index, counted without vanished ones; -1 past the last.
int gpu_at(LockedGpus& gpus, int index);

// The opposite: how many GPUs come before the unit's GPU.
int index_of(LockedGpus& gpus, int unit);

// The fault of the unit's GPU.
Fault fault_of(LockedGpus& gpus, int unit);

// Calls `see(const Holding&)` for everything living processes hold on the unit.
template <typename See>
void for_each_holding(LockedGpus& gpus, int unit, See see);

// Bytes in use.
std::uint64_t used_memory(LockedGpus& gpus, int unit);

// The sum of what the processes would use if each were alone, in percent; may be over 100.
std::uint32_t total_demand(LockedGpus& gpus, int unit);

// The same as of the last look at the processes, which costs most: for readings that only follow
// it.
std::uint32_t last_seen_demand(LockedGpus& gpus, int unit);

// For the calling process; 0 or a negative errno as in emulator.h.
int allocate(LockedGpus& gpus, int unit, std::uint64_t bytes);
int release(LockedGpus& gpus, int unit, std::uint64_t bytes);
int set_demand(LockedGpus& gpus, int unit, std::uint32_t percent);

// Frees the holding if its process has ended, and says whether anybody holds it.
bool is_held(Holding& holding);

// Whether a holding on `held` counts for `unit`: it is the unit itself or one of its slices.
inline bool counts_for(LockedGpus& gpus, int held, int unit) {
  return held == unit || gpus->units[held].gpu == unit;
}

template <typename See>
void for_each_holding(LockedGpus& gpus, int unit, See see) {
  for (int i = 0; i < gpus->holding_limit; ++i) {
    Holding& holding = gpus->holdings[i];
    if (holding.pid != 0 && counts_for(gpus, holding.unit, unit) && is_held(holding))
      see(static_cast<const Holding&>(holding));
  }
}

}  // namespace tutti::emulator
