#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tutti {

// A process that has memory on a GPU, as the driver tells it.
struct GpuProcess {
  std::int64_t pid = 0;
  MiB memory;
  MilliGpu utilization;  // its part of the compute time lately
};

// One GPU, or one slice of it, at the time of a reading.
struct GpuReading {
  std::string uuid;     // "GPU-…", "MIG-…"; unique
  std::string name;     // the vendor's, such as "NVIDIA A100-SXM4-80GB"
  std::string type;     // ours, such as "A100-80G"
  std::string pci_bus;  // sorts in the order of the bus
  bool amd = false;
  bool emulated = false;
  MiB memory;
  MiB used;
  MilliGpu utilization;
  std::string trouble;  // why it must not get work; empty: healthy
  std::vector<GpuProcess> processes;
};

// How long a driver that failed is left alone before it is started again, in microseconds.
inline constexpr std::int64_t kRestartEvery = 5000000;
// More than any machine has; a driver's count above it is garbage.
inline constexpr std::uint32_t kMostDevices = 256;

// Something that can tell which GPUs there are and what they do: a driver's library, or the text of
// a vendor's tool. Used by one thread.
class GpuSource {
 public:
  virtual ~GpuSource() = default;
  // "nvml", "rocm", "nvidia-smi", "rocm-smi".
  virtual const char* name() const = 0;
  // All GPUs now, in the order of the PCI bus. A GPU that was there before and is missing has
  // vanished. An error means that nothing can be said at present; the next call tries again.
  virtual Result<std::vector<GpuReading>> read() = 0;
};

// Where to look for GPUs. Empty: the vendor's usual name, found as the system finds it.
struct GpuSearch {
  std::string nvml_library;
  std::string rocm_library;
  std::string nvidia_smi;
  std::string rocm_smi;
};

// What a search found, and for each source that was not taken why not, for `tutti doctor`.
struct FoundGpus {
  std::vector<std::unique_ptr<GpuSource>> sources;
  std::vector<std::string> notes;
};

FoundGpus find_gpus(const GpuSearch& search);

}  // namespace tutti
