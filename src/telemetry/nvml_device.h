#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "telemetry/gpu_source.h"
#include "telemetry/nvml_library.h"
#include "telemetry/thermal_watch.h"

namespace tutti {

// One NVIDIA GPU, or one MIG slice of it, as found by NvmlSource: what it is, and what must be
// remembered from one reading to the next. Sampler's thread only.
class NvmlDevice {
 public:
  // Where a device stands: its handle, and the whole GPU's, which is the same unless it is a slice.
  struct Place {
    unsigned index = 0;
    int slice = -1;  // -1: a whole GPU
    nvml::Device handle = nullptr;
    nvml::Device whole = nullptr;
  };

  // Asks for everything that does not change. The code of the first call that failed.
  static int identify(const NvmlLibrary& library, const Place& place, NvmlDevice& out);

  const std::string& uuid() const { return identity_.uuid; }
  const std::string& pci_bus() const { return identity_.pci_bus; }
  const Place& place() const { return place_; }
  // The same GPU was found again, perhaps with another handle.
  void move_to(const Place& place) { place_ = place; }
  // The handle is no longer known: it stays a GPU, with this trouble.
  void lose() { place_.handle = place_.whole = nullptr; }

  // Never fails: what goes wrong is the GPU's trouble. `now_us` is monotonic. Sets `stale` when the
  // library no longer knows the handle.
  GpuReading read(NvmlLibrary& library, std::int64_t now_us, bool& stale);

 private:
  // A process's utilisation as last sampled.
  struct Sampled {
    unsigned pid = 0;
    MilliGpu utilization;
    unsigned long long timestamp = 0;  // the driver's
    std::int64_t heard_us = 0;
  };

  std::string health(NvmlLibrary& library, std::int64_t now_us);
  void check_memory(NvmlLibrary& library);
  void read_processes(NvmlLibrary& library, std::int64_t now_us, GpuReading& reading);
  bool read_utilization(NvmlLibrary& library, std::int64_t now_us, GpuReading& reading);

  GpuReading identity_;
  Place place_;
  unsigned slowdown_celsius_ = 0;  // zero: not told
  ThermalWatch thermal_;
  std::string memory_trouble_;
  std::int64_t memory_checked_us_ = 0;  // zero: never
  bool samples_supported_ = true;
  unsigned long long last_sample_ = 0;
  std::vector<Sampled> sampled_;
  std::vector<NvmlProcess> listed_;
  std::vector<nvml::ProcessSample> samples_;
};

}  // namespace tutti
