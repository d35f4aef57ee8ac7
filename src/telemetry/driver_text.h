#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace tutti {

// Text from a driver or its tools with only printable ASCII left, at most 200 bytes: it is shown to
// users and put into files.
std::string printable_text(std::string_view text);

// "00000000:81:00.0": as text it sorts in the order of the bus.
std::string pci_bus_text(std::uint32_t domain, std::uint32_t bus, std::uint32_t device,
                         std::uint32_t function);

// Rounded down; numbers that no memory has become zero.
MiB mib_from_bytes(std::uint64_t bytes);

// Percent as thousandths; more than all is all.
MilliGpu share_from_percent(std::uint64_t percent);

}  // namespace tutti
