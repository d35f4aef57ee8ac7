#include "exec/keeper/memory_text.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(memory_text, knows_the_words_of_every_framework) {
  for (
      const char* line :
      {"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 10.00 GiB.",
       "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.",
       "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
       "allocate 8589934592 bytes.",
       "XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 20.00GiB "
       "(21474836480B) on device ordinal 0",
       "RuntimeError: HIP error: out of memory", "RuntimeError: CUDA driver error: out of memory",
       "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,000 bytes (allocated "
       "so far: 0 bytes).",
       "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor "
       "with shape[65536,65536]",
       "failed to allocate 2.2GiB (2362232012 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of "
       "memory"})
    EXPECT_EQ(memory_ending(std::string("Traceback\n") + line + "\n", 1, true),
              Ending::kDeviceOutOfMemory)
        << line;
}

TEST(memory_text, other_failures_are_no_such_thing) {
  for (const char* line : {"", "MemoryError", "Killed", "out of memory",
                           "CUDA error: invalid device", "RESOURCE_EXHAUSTED: quota"})
    EXPECT_EQ(memory_ending(line, 137, true), Ending::kExited) << line;
}

TEST(memory_text, without_devices_their_memory_is_not_the_cause) {
  EXPECT_EQ(memory_ending("CUDA out of memory", 1, false), Ending::kExited);
}

TEST(memory_text, a_container_that_was_killed_for_memory_says_so) {
  const char* const line = "tutti: the container exceeded its memory limit of 50 MiB\n";
  EXPECT_EQ(memory_ending(line, 137, false), Ending::kOutOfMemory);
  EXPECT_EQ(memory_ending(line, 1, false), Ending::kExited);
  EXPECT_EQ(memory_ending("Killed\n", 137, false), Ending::kExited);
}

}  // namespace
}  // namespace tutti
