#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "telemetry/gpu_source.h"

namespace tutti {

// One line that `nvidia-smi --query-gpu` wrote.
struct SmiGpu {
  GpuReading reading;  // its trouble: what the tool itself says of the GPU
  int celsius = -1;    // -1: not told
};

// One line that `nvidia-smi --query-compute-apps` wrote.
struct SmiProcess {
  std::string gpu_uuid;
  GpuProcess process;  // memory may be kMemoryNotTold
};

// What to ask for, in the order that the parsers expect.
std::vector<std::string> nvidia_smi_gpu_arguments();
std::vector<std::string> nvidia_smi_process_arguments();

// Strict: a line with another number of fields, or a number that is none, is an error. Values that
// the tool does not know ("[N/A]") are zero. In the order of the PCI bus.
Result<std::vector<SmiGpu>> parse_nvidia_smi_gpus(std::string_view text);
Result<std::vector<SmiProcess>> parse_nvidia_smi_processes(std::string_view text);

// Why the tool failed, from its exit code and the first line that it wrote. kNotFound: there is no
// driver or no GPU, so that asking again is of no use.
Error nvidia_smi_failure(int exit_code, std::string_view text);

}  // namespace tutti
