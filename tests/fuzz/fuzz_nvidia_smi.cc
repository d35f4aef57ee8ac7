// What nvidia-smi writes. Invariants: values stay within their limits; GPUs are named once and have
// a type; errors are one printable line.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/spec/text.h"
#include "telemetry/nvidia_smi_text.h"
#include "telemetry/process_shares.h"

namespace {

void check_error(const tutti::Error& error) {
  TUTTI_CHECK(!tutti::first_control_character(error.message));
  TUTTI_CHECK(!tutti::first_invalid_utf8(error.message) && error.message.size() < 1000);
}

void check_gpu(const tutti::GpuReading& gpu) {
  TUTTI_CHECK(!gpu.uuid.empty() && !gpu.type.empty());
  TUTTI_CHECK(gpu.memory.value >= 0 && gpu.used.value >= 0);
  TUTTI_CHECK(gpu.utilization.value >= 0 && gpu.utilization.value <= 1000);
  TUTTI_CHECK(!tutti::first_control_character(gpu.uuid + gpu.name + gpu.type + gpu.pci_bus));
  TUTTI_CHECK(!tutti::first_invalid_utf8(gpu.uuid + gpu.name + gpu.type + gpu.pci_bus));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto gpus = parse_nvidia_smi_gpus(text)) {
    std::set<std::string> uuids;
    for (const SmiGpu& gpu : *gpus) {
      check_gpu(gpu.reading);
      TUTTI_CHECK(gpu.celsius >= -1 && uuids.insert(gpu.reading.uuid).second);
    }
  } else {
    check_error(gpus.error());
  }
  if (const auto processes = parse_nvidia_smi_processes(text)) {
    for (const SmiProcess& one : *processes) {
      TUTTI_CHECK(one.process.pid >= 0 && !one.gpu_uuid.empty());
      TUTTI_CHECK(one.process.memory.value >= 0 || one.process.memory == kMemoryNotTold);
    }
  } else {
    check_error(processes.error());
  }
  check_error(nvidia_smi_failure(size > 0 ? data[0] : 0, text));
  return 0;
}
