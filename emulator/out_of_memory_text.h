#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::emulator {

// Whose words the work program uses when a device is full.
enum class Flavour { kTorch, kJax, kTensorflow, kHip };
inline constexpr std::string_view kFlavourNames[] = {"torch", "jax", "tensorflow", "hip"};

// An allocation that did not fit. Plain value.
struct FailedAllocation {
  int device = 0;  // as the program counts its visible ones
  std::uint64_t tried = 0;
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  std::uint64_t own = 0;  // what the process held before
};

// What the framework would print, with the end of the line.
std::string out_of_memory_text(Flavour flavour, const FailedAllocation& failed);

// "10.00 GiB", "512.00 MiB".
std::string size_text(std::uint64_t bytes);

}  // namespace tutti::emulator
