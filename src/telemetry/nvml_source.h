#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "telemetry/gpu_source.h"
#include "telemetry/monotonic.h"
#include "telemetry/nvml_device.h"
#include "telemetry/nvml_library.h"

namespace tutti {

// NVIDIA's GPUs by the driver's library. A GPU whose MIG mode is on is left out; its slices are the
// devices. Handles are kept; the list is made anew when it may have changed, and now and then.
class NvmlSource : public GpuSource {
 public:
  // An empty path is the usual one. An error: there is no such library, it is something else, or
  // no driver is loaded, so that asking again is of no use. Other errors come from read().
  static Result<std::unique_ptr<NvmlSource>> open(const std::string& path,
                                                  MonotonicClock clock = monotonic_us);
  ~NvmlSource() override;

  const char* name() const override { return "nvml"; }
  // Initialises the library again when it failed, at most every five seconds.
  Result<std::vector<GpuReading>> read() override;

 private:
  NvmlSource(std::unique_ptr<NvmlLibrary> library, MonotonicClock clock)
      : library_(std::move(library)), clock_(std::move(clock)) {}
  int start();
  Error failure(const char* what, int code);
  int refresh();
  bool add_gpu(unsigned index, std::vector<NvmlDevice>& found);
  bool add_device(const NvmlDevice::Place& place, std::vector<NvmlDevice>& found);
  void keep_lost(unsigned index, std::vector<NvmlDevice>& found);

  std::unique_ptr<NvmlLibrary> library_;
  MonotonicClock clock_;
  bool initialised_ = false;
  bool failing_ = false;
  bool stale_ = false;  // a device was lost: the list is in doubt
  std::int64_t started_us_ = 0;
  std::int64_t listed_us_ = 0;  // zero: not since the library was started
  unsigned count_ = 0;
  Error last_error_;
  std::vector<NvmlDevice> devices_;
};

}  // namespace tutti
