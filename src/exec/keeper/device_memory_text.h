#pragma once

#include <string_view>

namespace tutti {

// The part of a program's output that is looked at: an error is near its end.
inline constexpr std::size_t kErrorTail = 64 * 1024;

// Whether the end of a failed program's output says that a GPU's memory did not suffice, in the
// words of PyTorch, JAX/XLA, TensorFlow, CUDA or HIP.
bool tells_of_device_memory(std::string_view output);

}  // namespace tutti
