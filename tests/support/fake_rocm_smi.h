#pragma once

#include <cstdint>

// What a fake librocm_smi64.so answers: a test opens the library, finds fake_rocm_world and writes
// to it.
extern "C" {

struct FakeRocmWorld {
  int init_code;
  int count_code;
  std::uint32_t count;
  int init_calls;
  int used_codes[4];
  std::uint64_t unique_ids[4];  // zero: it has none
  std::uint64_t pci_ids[4];
  std::uint64_t total;
  std::uint64_t used[4];
  std::uint32_t busy;
  std::uint64_t uncorrected;
  std::uint32_t processes;
  std::uint32_t pids[4];
  std::uint32_t gpus_of[4];  // bits: the GPUs that the process uses
  std::uint64_t vram_of[4];  // on each of them
};
}
