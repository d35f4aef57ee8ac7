#pragma once

#include <vector>

#include "base/units.h"
#include "telemetry/gpu_source.h"

namespace tutti {

// Memory that a driver did not tell.
inline constexpr MiB kMemoryNotTold{-1};

// One entry for each process, ordered by pid, without pid 0. A driver that names a process in more
// than one list tells its whole memory in each, so that the largest counts.
void merge_processes(std::vector<GpuProcess>& processes);

// What is used and belongs to nobody goes in equal parts to those whose memory was not told.
void fill_in_memory(std::vector<GpuProcess>& processes, MiB used);

// The GPU's utilisation over its processes by their memory: for drivers that do not tell it of
// each.
void share_utilization(std::vector<GpuProcess>& processes, MilliGpu utilization);

}  // namespace tutti
