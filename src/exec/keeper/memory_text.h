#pragma once

#include <string_view>

#include "core/model/outcome.h"

namespace tutti {

// The part of a program's output that is looked at: an error is near its end.
inline constexpr std::size_t kErrorTail = 64 * 1024;

// What the end of a failed program's output says of memory that did not suffice: kDeviceOutOfMemory
// in the words of PyTorch, JAX/XLA, TensorFlow, CUDA or HIP, if it had devices; kOutOfMemory in
// those of container.sh, for a container that was killed. kExited: it says no such thing.
Ending memory_ending(std::string_view output, int exit_code, bool has_devices);

// Whether it may say so at all: if not, nobody has to read it.
bool may_tell_of_memory(int exit_code, bool has_devices);

}  // namespace tutti
