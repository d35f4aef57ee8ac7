#include <cerrno>
#include <cstdio>
#include <iterator>
#include <string_view>

#include "emulator/emulator.h"
#include "emulator/gpu_file.h"
#include "emulator/gpu_use.h"

#define TUTTI_EXPORT __attribute__((visibility("default")))

namespace tutti::emulator {
namespace {

// Runs body(gpus, unit) with the lock on the file that the environment names.
template <typename Body>
int on_device(const char* device, Body body) {
  if (device == nullptr) return -EINVAL;
  const auto file = current_gpu_file();
  if (!file) return -ENXIO;
  LockedGpus gpus(**file);
  if (!gpus.ok()) return -ETIMEDOUT;
  const int unit = find_unit(gpus, device);
  return unit < 0 ? -ENODEV : body(gpus, unit);
}

}  // namespace
}  // namespace tutti::emulator

using namespace tutti::emulator;

extern "C" {

TUTTI_EXPORT extern const char tutti_emulator_version[] = TUTTI_VERSION;

TUTTI_EXPORT int tutti_emulator_create(const char* path, const char* spec, char* error,
                                       size_t error_size) {
  if (error != nullptr && error_size > 0) *error = '\0';
  if (path == nullptr || spec == nullptr) return -EINVAL;
  const auto created = create_gpu_file(path, spec);
  if (created) return 0;
  if (error != nullptr) std::snprintf(error, error_size, "%s", created.error().message.c_str());
  return created.error().code == tutti::ErrorCode::kInvalidInput ? -EINVAL : -EIO;
}

TUTTI_EXPORT int tutti_emulator_allocate(const char* device, unsigned long long bytes) {
  return on_device(device, [&](LockedGpus& gpus, int unit) { return allocate(gpus, unit, bytes); });
}

TUTTI_EXPORT int tutti_emulator_free(const char* device, unsigned long long bytes) {
  return on_device(device, [&](LockedGpus& gpus, int unit) { return release(gpus, unit, bytes); });
}

TUTTI_EXPORT int tutti_emulator_set_utilization(const char* device, unsigned int percent) {
  return on_device(device,
                   [&](LockedGpus& gpus, int unit) { return set_demand(gpus, unit, percent); });
}

TUTTI_EXPORT int tutti_emulator_set_fault(const char* device, const char* fault) {
  if (fault == nullptr) return -EINVAL;
  return on_device(device, [&](LockedGpus& gpus, int unit) {
    for (std::size_t i = 0; i < std::size(kFaultNames); ++i) {
      if (kFaultNames[i] != fault) continue;
      gpus->units[gpus->units[unit].gpu].fault = static_cast<Fault>(i);
      return 0;
    }
    return -EINVAL;
  });
}

TUTTI_EXPORT int tutti_emulator_fail(int nvml_error) {
  if (nvml_error < 0 || nvml_error > 999) return -EINVAL;
  const auto file = current_gpu_file();
  if (!file) return -ENXIO;
  LockedGpus gpus(**file);
  if (!gpus.ok()) return -ETIMEDOUT;
  gpus->failure = nvml_error;
  return 0;
}

}  // extern "C"
