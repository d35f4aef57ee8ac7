#include "telemetry/process_shares.h"

#include <algorithm>

namespace tutti {

void merge_processes(std::vector<GpuProcess>& processes) {
  std::erase_if(processes, [](const GpuProcess& process) { return process.pid <= 0; });
  std::sort(processes.begin(), processes.end(), [](const GpuProcess& a, const GpuProcess& b) {
    return a.pid != b.pid ? a.pid < b.pid : a.memory > b.memory;
  });
  const auto same = [](const GpuProcess& a, const GpuProcess& b) { return a.pid == b.pid; };
  processes.erase(std::unique(processes.begin(), processes.end(), same), processes.end());
}

void fill_in_memory(std::vector<GpuProcess>& processes, MiB used) {
  MiB told;
  std::int64_t not_told = 0;
  for (const GpuProcess& process : processes) {
    if (process.memory == kMemoryNotTold) {
      ++not_told;
    } else {
      told += process.memory;
    }
  }
  if (not_told == 0) return;
  const MiB each(std::max<std::int64_t>(0, used.value - told.value) / not_told);
  for (GpuProcess& process : processes) {
    if (process.memory == kMemoryNotTold) process.memory = each;
  }
}

void share_utilization(std::vector<GpuProcess>& processes, MilliGpu utilization) {
  MiB all;
  for (const GpuProcess& process : processes) all += process.memory;
  const auto count = static_cast<std::int64_t>(processes.size());
  for (GpuProcess& process : processes) {
    process.utilization = all.value > 0
                              ? MilliGpu(utilization.value * process.memory.value / all.value)
                              : MilliGpu(utilization.value / count);
  }
}

}  // namespace tutti
