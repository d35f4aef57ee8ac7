#include "exec/keeper/device_memory_text.h"

#include <algorithm>
#include <array>

namespace tutti {
namespace {

constexpr std::array<std::string_view, 12> kPhrases = {
    "CUDA out of memory",                 // PyTorch
    "torch.cuda.OutOfMemoryError",        // PyTorch until 2.4
    "torch.OutOfMemoryError",             // PyTorch since
    "HIP out of memory",                  // PyTorch on ROCm
    "CUDA error: out of memory",          // PyTorch, CUDA samples
    "CUDA_ERROR_OUT_OF_MEMORY",           // the driver's own, XLA, TensorFlow
    "cudaErrorMemoryAllocation",          // the runtime's own
    "hipErrorOutOfMemory",                //
    "HIP_ERROR_OutOfMemory",              //
    "RESOURCE_EXHAUSTED: Out of memory",  // JAX
    "OOM when allocating tensor",         // TensorFlow
    "CUBLAS_STATUS_ALLOC_FAILED",         //
};

}  // namespace

bool tells_of_device_memory(std::string_view output) {
  return std::any_of(kPhrases.begin(), kPhrases.end(), [&](std::string_view phrase) {
    return output.find(phrase) != std::string_view::npos;
  });
}

}  // namespace tutti
