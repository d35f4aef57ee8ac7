#include "exec/keeper/memory_text.h"

#include <algorithm>
#include <array>

namespace tutti {
namespace {

// A test of the SDK, which has the same list, reads it here.
constexpr std::array<std::string_view, 16> kDevicePhrases = {
    "CUDA out of memory",                              // PyTorch
    "torch.cuda.OutOfMemoryError",                     // PyTorch until 2.4
    "torch.OutOfMemoryError",                          // PyTorch since
    "HIP out of memory",                               // PyTorch on ROCm
    "CUDA error: out of memory",                       // PyTorch, CUDA samples
    "HIP error: out of memory",                        // PyTorch on ROCm
    "CUDA driver error: out of memory",                // PyTorch, Numba
    "CUDA_ERROR_OUT_OF_MEMORY",                        // the driver's own, XLA, TensorFlow
    "cudaErrorMemoryAllocation",                       // the runtime's own
    "hipErrorOutOfMemory",                             //
    "HIP_ERROR_OutOfMemory",                           //
    "RESOURCE_EXHAUSTED: Out of memory",               // JAX
    "RESOURCE_EXHAUSTED: Failed to allocate request",  // JAX
    "OOM when allocating tensor",                      // TensorFlow
    "cupy.cuda.memory.OutOfMemoryError",               // CuPy
    "CUBLAS_STATUS_ALLOC_FAILED",                      //
};

constexpr std::string_view kContainerPhrase = "tutti: the container exceeded its memory limit";
// What a container that was killed ends with.
constexpr int kKilled = 128 + 9;

}  // namespace

Ending memory_ending(std::string_view output, int exit_code, bool has_devices) {
  const auto has = [&](std::string_view phrase) { return output.find(phrase) != output.npos; };
  if (has_devices && std::any_of(kDevicePhrases.begin(), kDevicePhrases.end(), has))
    return Ending::kDeviceOutOfMemory;
  return exit_code == kKilled && has(kContainerPhrase) ? Ending::kOutOfMemory : Ending::kExited;
}

bool may_tell_of_memory(int exit_code, bool has_devices) {
  return has_devices || exit_code == kKilled;
}

}  // namespace tutti
