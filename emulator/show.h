#pragma once

#include <string>

#include "emulator/gpu_file.h"

namespace tutti::emulator {

// A table of the devices and of the processes on them, for people.
std::string show_gpus(GpuFile& file);

}  // namespace tutti::emulator
