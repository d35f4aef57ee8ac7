#pragma once

#include <cstdint>

// The part of ROCm SMI's binary interface that we use: numbers and layouts, as the library has
// them.
namespace tutti::rocm {

inline constexpr int kSuccess = 0;
inline constexpr int kInsufficientSize = 11;
inline constexpr int kVram = 0;                   // kind of memory
inline constexpr std::uint64_t kMemoryBlock = 1;  // part of the GPU whose errors are counted

// A process that uses GPUs. Newer versions use the last four bytes, which older ones leave alone.
struct Process {
  std::uint32_t pid = 0;
  std::uint32_t pasid = 0;
  std::uint64_t vram = 0;  // bytes
  std::uint64_t sdma = 0;
  std::uint32_t occupancy = 0;
  std::uint32_t more = 0;
};

// Newer versions write a third count.
struct ErrorCounts {
  std::uint64_t corrected = 0;
  std::uint64_t uncorrected = 0;
  std::uint64_t more[2] = {};
};

static_assert(sizeof(Process) == 32);

}  // namespace tutti::rocm
