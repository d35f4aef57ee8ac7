#include "emulator/visible_devices.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace tutti::emulator {
namespace {

int unit_with_beginning(LockedGpus& gpus, std::string_view beginning) {
  int found = -1;
  for (int unit = 0; unit < gpus->unit_count; ++unit) {
    if (!std::string_view(gpus->units[unit].uuid).starts_with(beginning)) continue;
    if (found >= 0) return -1;
    found = unit;
  }
  return found >= 0 && fault_of(gpus, found) != Fault::kVanished ? found : -1;
}

int unit_of_entry(LockedGpus& gpus, std::string_view entry) {
  if (entry.starts_with("GPU-") || entry.starts_with("MIG-"))
    return unit_with_beginning(gpus, entry);
  int index = -1;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  if (error != std::errc() || end != entry.data() + entry.size()) return -1;
  return gpu_at(gpus, index);
}

}  // namespace

std::vector<int> visible_units(LockedGpus& gpus, const char* variable) {
  std::vector<int> units;
  const auto see = [&](int unit) {
    units.push_back(gpus->units[unit].slices > 0 ? unit + 1 : unit);
  };
  if (variable == nullptr) {
    for (int index = 0; gpu_at(gpus, index) >= 0; ++index) see(gpu_at(gpus, index));
    return units;
  }
  std::string_view rest = variable;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const int unit = unit_of_entry(gpus, rest.substr(0, end));
    if (unit < 0) break;
    see(unit);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::vector<int> sorted = units;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) units.clear();
  return units;
}

}  // namespace tutti::emulator
