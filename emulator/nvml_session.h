#pragma once

#include "emulator/gpu_use.h"
#include "emulator/nvml_abi.h"

#define TUTTI_NVML extern "C" __attribute__((visibility("default"))) int

namespace tutti::emulator {

// Between nvmlInit and the last nvmlShutdown: the file in use; otherwise nullptr.
GpuFile* session_file();

// Handles are places in a table that nobody reads, so that a wrong one is recognised.
nvml::Device handle_of(int unit);
int unit_of(nvml::Device device);  // -1 for what is no handle

// Copies text with its end into a client's buffer.
int give_text(char* to, unsigned int size, const char* text);

// The head of every call: body(gpus) with the lock, unless all calls shall fail.
template <typename Body>
int answer(Body body) {
  GpuFile* file = session_file();
  if (file == nullptr) return nvml::kUninitialized;
  LockedGpus gpus(*file);
  if (!gpus.ok()) return nvml::kTimeout;
  return gpus->failure != 0 ? gpus->failure : body(gpus);
}

// The same for calls about one device: body(gpus, unit) if the device answers at all.
template <typename Body>
int answer_for(nvml::Device device, Body body) {
  return answer([&](LockedGpus& gpus) -> int {
    const int unit = unit_of(device);
    if (unit < 0 || unit >= gpus->unit_count) return nvml::kInvalidArgument;
    const Fault fault = fault_of(gpus, unit);
    if (fault == Fault::kLost || fault == Fault::kVanished) return nvml::kGpuIsLost;
    return body(gpus, unit);
  });
}

// The same for calls that answer with one number.
template <typename Number, typename Body>
int answer_number(nvml::Device device, Number* number, Body body) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) -> int {
    if (number == nullptr) return nvml::kInvalidArgument;
    *number = static_cast<Number>(body(gpus, unit));
    return nvml::kSuccess;
  });
}

}  // namespace tutti::emulator
