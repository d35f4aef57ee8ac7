#pragma once

#include "emulator/gpu_file.h"
#include "emulator/work_options.h"

namespace tutti::emulator {

// Holds memory and keeps devices busy as a training job would, until its work is done. Returns the
// exit status: 0, or 1 after telling on stderr what went wrong, in the framework's words.
int run_work(GpuFile& file, const WorkOptions& options);

}  // namespace tutti::emulator
