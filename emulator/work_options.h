#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "emulator/arguments.h"
#include "emulator/out_of_memory_text.h"

namespace tutti::emulator {

// What `tutti-gpu-emulator work` shall do. Plain value.
struct WorkOptions {
  std::uint64_t memory = std::uint64_t{1} << 30;
  std::optional<std::uint64_t> start_memory;  // all of it when absent
  double grow_after = 0;                      // seconds until start_memory becomes memory
  int percent = 50;                           // of each device, if alone
  double seconds = 5;                         // of work; takes longer on a crowded device
  int gpus = 1;
  int children = 0;  // processes that hold the memory instead of this one
  bool prealloc = false;
  bool orphan = false;
  bool slowdown = true;
  Flavour flavour = Flavour::kTorch;
};

Result<WorkOptions> parse_work_options(Arguments arguments);

}  // namespace tutti::emulator
