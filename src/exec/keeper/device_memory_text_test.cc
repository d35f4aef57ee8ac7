#include "exec/keeper/device_memory_text.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(device_memory_text, knows_the_words_of_every_framework) {
  for (
      const char* line :
      {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 10.00 GiB.",
       "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.",
       "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
       "allocate 8589934592 bytes.",
       "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor "
       "with shape[65536,65536]",
       "failed to allocate 2.2GiB (2362232012 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of "
       "memory"})
    EXPECT_TRUE(tells_of_device_memory(std::string("Traceback\n") + line + "\n")) << line;
}

TEST(device_memory_text, other_failures_are_no_such_thing) {
  for (const char* line : {"", "MemoryError", "Killed", "out of memory",
                           "CUDA error: invalid device", "RESOURCE_EXHAUSTED: quota"})
    EXPECT_FALSE(tells_of_device_memory(line)) << line;
}

}  // namespace
}  // namespace tutti
