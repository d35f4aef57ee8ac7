#include "core/plan/slots.h"

#include <algorithm>

namespace tutti {
namespace {

constexpr std::size_t kMostSlots = 1024;

// A GPU with what the jobs so far leave of it.
struct Candidate {
  FreeGpu gpu;
  bool reserved = false;
};

bool suffices(const Candidate& candidate, const SlotNeed& need) {
  return !candidate.reserved && candidate.gpu.free_memory >= need.gpu_memory &&
         candidate.gpu.busy + need.gpu_share <= kGpuShareCap;
}

Candidate* choose(std::vector<Candidate>& candidates, const SlotNeed& need) {
  Candidate* best = nullptr;
  for (Candidate& candidate : candidates) {
    if (!suffices(candidate, need)) continue;
    if (best == nullptr || candidate.gpu.busy < best->gpu.busy) best = &candidate;
  }
  return best;
}

std::string gpu_limit(const std::vector<Candidate>& candidates, const SlotNeed& need) {
  if (candidates.empty()) return "no GPU";
  const bool all_reserved = std::all_of(candidates.begin(), candidates.end(),
                                        [](const Candidate& c) { return c.reserved; });
  if (all_reserved) return "every GPU is reserved";
  return "no GPU with " + std::to_string(need.gpu_memory.value) +
         " MB free and room for its utilization";
}

// The GPU's part of one more job; the text says why there is none.
std::string take_gpu(std::vector<Candidate>& candidates, const SlotNeed& need, Slots& slots) {
  Candidate* const chosen = choose(candidates, need);
  if (chosen == nullptr) return gpu_limit(candidates, need);
  chosen->gpu.free_memory -= need.gpu_memory;
  chosen->gpu.busy += need.gpu_share;
  chosen->reserved = need.reserve_gpu;
  slots.gpus.emplace_back(chosen->gpu.index);
  return {};
}

}  // namespace

Slots count_slots(const FreeMachine& machine, const SlotNeed& need) {
  Slots slots;
  std::vector<Candidate> candidates;
  for (const FreeGpu& gpu : machine.gpus) candidates.push_back({gpu, false});
  MilliCpu cpus = machine.idle_cpus;
  MiB memory = machine.free_memory;
  while (slots.gpus.size() < kMostSlots) {
    cpus -= need.cpus;
    memory -= need.memory;
    if (need.reserve_machine && !slots.gpus.empty()) {
      slots.limited_by = "the machine is reserved";
    } else if (cpus + kCpuOverload < MilliCpu{}) {
      slots.limited_by = "too few idle cores";
    } else if (memory < MiB{}) {
      slots.limited_by = "too little free memory";
    } else if (!need.gpu) {
      slots.gpus.emplace_back(std::nullopt);
    } else {
      slots.limited_by = take_gpu(candidates, need, slots);
    }
    if (!slots.limited_by.empty()) break;
  }
  return slots;
}

}  // namespace tutti
