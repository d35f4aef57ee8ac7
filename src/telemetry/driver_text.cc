#include "telemetry/driver_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace tutti {

std::string printable_text(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 200)) {
    if (c >= ' ' && c < 127) out += c;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  out.erase(0, std::min(out.find_first_not_of(' '), out.size()));
  return out;
}

std::string pci_bus_text(std::uint32_t domain, std::uint32_t bus, std::uint32_t device,
                         std::uint32_t function) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%08x:%02x:%02x.%x", domain, bus, device, function);
  return text.data();
}

MiB mib_from_bytes(std::uint64_t bytes) {
  const std::uint64_t mib = bytes >> 20;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  return MiB(mib <= kMost ? static_cast<std::int64_t>(mib) : 0);
}

MilliGpu share_from_percent(std::uint64_t percent) {
  return MilliGpu(static_cast<std::int64_t>(std::min<std::uint64_t>(percent, 100)) * 10);
}

}  // namespace tutti
