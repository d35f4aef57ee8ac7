#include "emulator/out_of_memory_text.h"

#include <cstdio>

namespace tutti::emulator {
namespace {

// PyTorch's form, for CUDA and HIP.
std::string torch_text(std::string_view error, std::string_view runtime,
                       const FailedAllocation& failed) {
  return std::string(error) + ": " + std::string(runtime) + " out of memory. Tried to allocate " +
         size_text(failed.tried) + ". GPU " + std::to_string(failed.device) +
         " has a total capacity of " + size_text(failed.total) + " of which " +
         size_text(failed.free) + " is free. This process has " + size_text(failed.own) +
         " memory in use. (emulated)\n";
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  const bool large = bytes >= std::uint64_t{1} << 30;
  char text[48];
  std::snprintf(text, sizeof text, "%.2f %s",
                static_cast<double>(bytes) / (large ? 1u << 30 : 1u << 20), large ? "GiB" : "MiB");
  return text;
}

std::string out_of_memory_text(Flavour flavour, const FailedAllocation& failed) {
  const std::string bytes = std::to_string(failed.tried);
  const std::string device = std::to_string(failed.device);
  switch (flavour) {
    case Flavour::kTorch:
      return torch_text("torch.cuda.OutOfMemoryError", "CUDA", failed);
    case Flavour::kHip:
      return torch_text("torch.OutOfMemoryError", "HIP", failed);
    case Flavour::kJax:
      return "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying "
             "to allocate " +
             bytes + " bytes. (emulated)\n";
    case Flavour::kTensorflow:
      return "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating "
             "tensor with shape[" +
             std::to_string(failed.tried / 4) +
             "] and type float on /job:localhost/replica:0/task:0/device:GPU:" + device +
             " by allocator GPU_" + device + "_bfc (emulated)\n";
  }
  return {};
}

}  // namespace tutti::emulator
