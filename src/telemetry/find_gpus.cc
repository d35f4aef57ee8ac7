#include <unistd.h>

#include <utility>

#include "telemetry/gpu_source.h"
#include "telemetry/nvml_source.h"
#include "telemetry/rocm_source.h"
#include "telemetry/smi_text_source.h"

namespace tutti {
namespace {

// AMD's library and tool are also installed where there is no such GPU, and then fail for ever.
bool has_amd_driver() {
  return access("/dev/kfd", F_OK) == 0;
}

// Takes a source that has GPUs, or has trouble that may pass; says what it did.
bool take(std::unique_ptr<GpuSource> source, bool has_driver, FoundGpus& found) {
  const std::string name = source->name();
  const auto gpus = source->read();
  if (!gpus && (gpus.error().code != ErrorCode::kUnavailable || !has_driver)) {
    found.notes.push_back(name + ": not used: " + gpus.error().message);
    return false;
  }
  if (!gpus) {
    found.notes.push_back(name + ": used, but fails now: " + gpus.error().message);
  } else if (gpus->empty()) {
    found.notes.push_back(name + ": not used: it works, and lists no GPU");
    return false;
  } else {
    found.notes.push_back(name + ": used for " + std::to_string(gpus->size()) +
                          (gpus->size() == 1 ? " GPU" : " GPUs"));
  }
  found.sources.push_back(std::move(source));
  return true;
}

template <typename Source>
bool take(Result<std::unique_ptr<Source>> opened, const char* name, bool has_driver,
          FoundGpus& found) {
  if (opened) return take(std::move(*opened), has_driver, found);
  found.notes.push_back(std::string(name) + ": not used: " + opened.error().message);
  return false;
}

}  // namespace

FoundGpus find_gpus(const GpuSearch& search) {
  FoundGpus found;
  const bool nvml = take(NvmlSource::open(search.nvml_library), "nvml", true, found);
  const bool rocm = take(RocmSource::open(search.rocm_library), "rocm", has_amd_driver(), found);
  if (nvml) {
    found.notes.push_back("nvidia-smi: not needed: nvml is used");
  } else {
    take(make_nvidia_smi_source(search.nvidia_smi), true, found);
  }
  if (rocm) {
    found.notes.push_back("rocm-smi: not needed: rocm is used");
  } else {
    take(make_rocm_smi_source(search.rocm_smi), has_amd_driver(), found);
  }
  return found;
}

}  // namespace tutti
