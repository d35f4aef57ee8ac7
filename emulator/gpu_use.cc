#include "emulator/gpu_use.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>

#include "emulator/process_life.h"

namespace tutti::emulator {
namespace {

// Reading a start time costs ten times as much as asking whether a pid has ended, and a pid does
// not come back within this time of having been seen alive.
constexpr std::uint64_t kTrustedFor = 1'000'000'000;

// A process that is killed between two writes must leave them in this order.
void keep_order() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void leave(Holding& holding) {
  holding.pid = 0;
  keep_order();
}

Holding* own_holding(LockedGpus& gpus, int unit) {
  const pid_t pid = ::getpid();
  for (int i = 0; i < gpus->holding_limit; ++i) {
    Holding& holding = gpus->holdings[i];
    if (holding.pid == pid && holding.unit == unit && is_held(holding)) return &holding;
  }
  return nullptr;
}

Holding* free_place(LockedGpus& gpus) {
  for (int i = 0; i < gpus->holding_limit; ++i) {
    if (gpus->holdings[i].pid == 0) return &gpus->holdings[i];
  }
  if (gpus->holding_limit < kMaxHoldings) return &gpus->holdings[gpus->holding_limit++];
  for (Holding& holding : gpus->holdings) {
    if (!is_held(holding)) return &holding;
  }
  return nullptr;
}

Holding* own_holding_or_new(LockedGpus& gpus, int unit) {
  if (Holding* mine = own_holding(gpus, unit)) return mine;
  Holding* place = free_place(gpus);
  if (place == nullptr) return nullptr;
  place->unit = unit;
  place->start_time = own_start_time();
  place->bytes = 0;
  place->demand = 0;
  place->checked_at = monotonic_now();
  keep_order();
  place->pid = ::getpid();
  return place;
}

int usable(LockedGpus& gpus, int unit) {
  if (unit < 0 || unit >= gpus->unit_count || gpus->units[unit].slices > 0) return -ENODEV;
  const Fault fault = fault_of(gpus, unit);
  return fault == Fault::kLost || fault == Fault::kVanished ? -EIO : 0;
}

}  // namespace

bool is_held(Holding& holding) {
  if (holding.pid == 0) return false;
  if (holding.pid == ::getpid()) {
    if (holding.start_time == own_start_time()) return true;
    leave(holding);
    return false;
  }
  if (has_ended(holding.pid)) {
    leave(holding);
    return false;
  }
  const std::uint64_t now = monotonic_now();
  if (now - holding.checked_at < kTrustedFor) return true;
  if (start_time_of(holding.pid) != holding.start_time) {
    leave(holding);
    return false;
  }
  holding.checked_at = now;
  return true;
}

int gpu_at(LockedGpus& gpus, int index) {
  if (index < 0) return -1;
  for (int unit = 0; unit < gpus->unit_count; ++unit) {
    const Unit& found = gpus->units[unit];
    if (found.slice < 0 && found.fault != Fault::kVanished && index-- == 0) return unit;
  }
  return -1;
}

int index_of(LockedGpus& gpus, int unit) {
  int index = 0;
  for (int before = 0; before < gpus->units[unit].gpu; ++before) {
    if (gpus->units[before].slice < 0 && gpus->units[before].fault != Fault::kVanished) ++index;
  }
  return index;
}

int find_unit(LockedGpus& gpus, std::string_view device) {
  int index = 0;
  const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), index);
  if (error == std::errc() && end == device.data() + device.size()) return gpu_at(gpus, index);
  for (int unit = 0; unit < gpus->unit_count; ++unit) {
    if (device == gpus->units[unit].uuid) return unit;
  }
  return -1;
}

Fault fault_of(LockedGpus& gpus, int unit) {
  return gpus->units[gpus->units[unit].gpu].fault;
}

std::uint64_t used_memory(LockedGpus& gpus, int unit) {
  std::uint64_t used = 0;
  for_each_holding(gpus, unit, [&](const Holding& holding) { used += holding.bytes; });
  return used;
}

std::uint32_t total_demand(LockedGpus& gpus, int unit) {
  std::uint32_t demand = 0;
  for_each_holding(gpus, unit, [&](const Holding& holding) { demand += holding.demand; });
  return demand;
}

std::uint32_t last_seen_demand(LockedGpus& gpus, int unit) {
  std::uint32_t demand = 0;
  for (int i = 0; i < gpus->holding_limit; ++i) {
    const Holding& holding = gpus->holdings[i];
    if (holding.pid != 0 && counts_for(gpus, holding.unit, unit)) demand += holding.demand;
  }
  return demand;
}

int allocate(LockedGpus& gpus, int unit, std::uint64_t bytes) {
  if (const int error = usable(gpus, unit)) return error;
  // Used memory is never over the total, so the difference cannot wrap.
  if (bytes > gpus->units[unit].memory - used_memory(gpus, unit)) return -ENOMEM;
  Holding* mine = own_holding_or_new(gpus, unit);
  if (mine == nullptr) return -ENOSPC;
  mine->bytes += bytes;
  return 0;
}

int release(LockedGpus& gpus, int unit, std::uint64_t bytes) {
  if (unit < 0 || unit >= gpus->unit_count) return -ENODEV;
  Holding* mine = own_holding(gpus, unit);
  if (mine == nullptr) return 0;
  mine->bytes -= std::min(bytes, mine->bytes);
  if (mine->bytes == 0 && mine->demand == 0) leave(*mine);
  return 0;
}

int set_demand(LockedGpus& gpus, int unit, std::uint32_t percent) {
  if (percent > 100) return -EINVAL;
  if (const int error = usable(gpus, unit)) return error;
  Holding* mine = own_holding_or_new(gpus, unit);
  if (mine == nullptr) return -ENOSPC;
  mine->demand = percent;
  if (mine->bytes == 0 && mine->demand == 0) leave(*mine);
  return 0;
}

}  // namespace tutti::emulator
