// What rocm-smi writes, JSON and tables. Invariants: values stay within their limits; cards are
// named once; after the processes were added no card has one twice; errors are one printable line.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/spec/text.h"
#include "telemetry/rocm_smi_text.h"

namespace {

void check_error(const tutti::Error& error) {
  TUTTI_CHECK(!tutti::first_control_character(error.message));
  TUTTI_CHECK(!tutti::first_invalid_utf8(error.message) && error.message.size() < 1000);
}

void check_card(const tutti::GpuReading& card) {
  TUTTI_CHECK(!card.uuid.empty() && !card.name.empty() && !card.type.empty() && card.amd);
  TUTTI_CHECK(card.memory.value >= 0 && card.used.value >= 0);
  TUTTI_CHECK(card.utilization.value >= 0 && card.utilization.value <= 1000);
  TUTTI_CHECK(!tutti::first_control_character(card.uuid + card.name + card.type + card.pci_bus));
  std::set<std::int64_t> pids;
  for (const tutti::GpuProcess& process : card.processes) {
    TUTTI_CHECK(process.pid > 0 && pids.insert(process.pid).second);
    TUTTI_CHECK(process.memory.value >= 0);
    TUTTI_CHECK(process.utilization.value >= 0 && process.utilization.value <= 1000);
  }
}

}  // namespace

// The input is both texts with a byte 0 between them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t middle = std::min(text.find('\0'), text.size());
  auto cards = parse_rocm_smi_cards(text.substr(0, middle));
  const auto processes = parse_rocm_smi_processes(text.substr(std::min(middle + 1, text.size())));
  if (!cards) check_error(cards.error());
  if (!processes) check_error(processes.error());
  if (!cards || !processes) return 0;
  add_processes(*cards, *processes);
  std::set<std::string> uuids;
  for (const RocmSmiCard& card : *cards) {
    check_card(card.reading);
    TUTTI_CHECK(uuids.insert(card.reading.uuid).second);
  }
  return 0;
}
