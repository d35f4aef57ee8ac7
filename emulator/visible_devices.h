#pragma once

#include <vector>

#include "emulator/gpu_use.h"

namespace tutti::emulator {

// The units that a CUDA program sees, in its order. `variable` is the value of
// CUDA_VISIBLE_DEVICES, or nullptr when it is not set: then all of them. As CUDA does it: indices,
// UUIDs or unique beginnings of them; nothing after the first wrong entry counts; an entry given
// twice hides everything; a GPU that is split stands for its first slice.
std::vector<int> visible_units(LockedGpus& gpus, const char* variable);

}  // namespace tutti::emulator
