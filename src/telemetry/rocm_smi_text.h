#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "telemetry/gpu_source.h"

namespace tutti {

// One card that `rocm-smi --json` wrote.
struct RocmSmiCard {
  unsigned index = 0;
  GpuReading reading;
};

// A process and the cards that it uses.
struct RocmSmiProcess {
  std::int64_t pid = 0;
  MiB memory;  // on all its cards together; may be kMemoryNotTold
  std::vector<unsigned> cards;
};

// What to ask for, as the parsers expect it.
std::vector<std::string> rocm_smi_card_arguments();
std::vector<std::string> rocm_smi_process_arguments();

// Names of fields differ between versions in capitals; a card without memory is an error. In the
// order of the PCI bus.
Result<std::vector<RocmSmiCard>> parse_rocm_smi_cards(std::string_view text);
// The table of `--showpids` and the lists of `--showpidgpus`, which are written for people.
Result<std::vector<RocmSmiProcess>> parse_rocm_smi_processes(std::string_view text);

// The name by which ROCm itself selects a GPU, "GPU-" and 16 digits; for a GPU without a number of
// its own its place on the bus.
std::string rocm_uuid(std::uint64_t unique_id, std::string_view pci_bus);

// Adds the processes to the cards, their memory in equal parts.
void add_processes(std::vector<RocmSmiCard>& cards, const std::vector<RocmSmiProcess>& processes);

}  // namespace tutti
