#pragma once

#include <string>

#include "base/result.h"
#include "telemetry/gpu_source.h"

namespace tutti {

// The GPUs of this machine, or emulated ones in their place.
struct MachineGpus {
  FoundGpus gpus;
  std::string emulation;  // the file of the emulator's state; empty: real ones
};

// `emulate`: which to emulate, such as "4xA100-80G"; empty: none. The emulator is a library beside
// this program, and its state a file in the home.
Result<MachineGpus> find_machine_gpus(const std::string& home, const std::string& emulate);

}  // namespace tutti
