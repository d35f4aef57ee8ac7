#pragma once

#include <memory>
#include <string>

#include "telemetry/gpu_source.h"
#include "telemetry/monotonic.h"

namespace tutti {

// GPUs by the text of a vendor's tool, where its library cannot be used. The tools are slow: a
// reading is used again for two seconds, and making one may block for some. An empty program is the
// usual name, looked up in PATH.
std::unique_ptr<GpuSource> make_nvidia_smi_source(const std::string& program,
                                                  MonotonicClock clock = monotonic_us);
std::unique_ptr<GpuSource> make_rocm_smi_source(const std::string& program,
                                                MonotonicClock clock = monotonic_us);

}  // namespace tutti
