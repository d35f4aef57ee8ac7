#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/units.h"
#include "core/model/ids.h"

namespace tutti {

// A process on a device that Tutti did not start.
struct ForeignProcess {
  std::int64_t pid = 0;
  std::string user;
  std::string command;
  MiB memory;
};

// What a device does now.
struct DeviceReading {
  std::string uuid;
  MiB used;
  MilliGpu utilization;
  std::map<AttemptId, MiB> used_by;
  std::vector<ForeignProcess> foreign;
};

// What the devices do now, and where that is known from.
struct GpuReport {
  std::string source;              // such as "nvml"; empty: no source was found
  std::string trouble;             // why nothing can be read at present; empty: all is well
  std::vector<std::string> notes;  // sources that were looked for and are not used, and why
  std::vector<DeviceReading> devices;
};

// Port: what the devices of this machine do now. Safe from any thread.
class GpuMonitor {
 public:
  virtual ~GpuMonitor() = default;
  virtual GpuReport read_now() = 0;
};

}  // namespace tutti
