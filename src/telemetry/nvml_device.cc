#include "telemetry/nvml_device.h"

#include <algorithm>

#include "core/spec/gpu_type.h"
#include "telemetry/driver_text.h"
#include "telemetry/process_shares.h"

namespace tutti {
namespace {

// Errors of the memory stay, and asking for them is slow on some drivers.
constexpr std::int64_t kMemoryCheckEvery = 1000000;
// Drivers sample a few times a second; after this time without a sample a process does nothing.
constexpr std::int64_t kSampleLifetime = 2000000;

std::string place_on_bus(const NvmlLibrary& library, const NvmlDevice::Place& place) {
  nvml::PciPlace pci;
  std::string text = library.pci(place.whole, &pci) == nvml::kSuccess
                         ? pci_bus_text(pci.domain, pci.bus, pci.device, 0)
                         : pci_bus_text(~0U, place.index, 0, 0);
  if (place.slice >= 0) {
    text += "/" + std::string(place.slice < 10 ? "0" : "") + std::to_string(place.slice);
  }
  return text;
}

std::string name_of(const NvmlLibrary& library, const NvmlDevice::Place& place) {
  std::string name;
  if (library.name(place.handle, &name) != nvml::kSuccess || name.empty()) {
    if (library.name(place.whole, &name) != nvml::kSuccess || name.empty()) name = "NVIDIA GPU";
  }
  if (place.slice >= 0 && name.find("MIG") == std::string::npos) name += " MIG";
  return name;
}

std::string trouble_text(const NvmlLibrary& library, int code) {
  const std::string said = " (NVML: " + library.text_of(code) + ")";
  if (code == nvml::kGpuIsLost) return "fell off the bus" + said;
  if (code == nvml::kResetRequired) return "needs a reset" + said;
  return "does not answer" + said;
}

}  // namespace

int NvmlDevice::identify(const NvmlLibrary& library, const Place& place, NvmlDevice& out) {
  std::string uuid;
  if (const int code = library.uuid(place.handle, &uuid); code != nvml::kSuccess) return code;
  if (uuid.empty()) return nvml::kNotFound;
  nvml::Memory memory;
  if (const int code = library.memory(place.handle, &memory); code != nvml::kSuccess) return code;
  GpuReading& identity = out.identity_;
  identity.uuid = uuid;
  identity.name = name_of(library, place);
  identity.memory = mib_from_bytes(memory.total);
  identity.type = type_of_gpu(identity.name, identity.memory);
  identity.pci_bus = place_on_bus(library, place);
  identity.emulated = library.emulated();
  out.place_ = place;
  unsigned celsius = 0;
  if (library.slowdown_temperature(place.whole, &celsius) == nvml::kSuccess) {
    out.slowdown_celsius_ = celsius;
  }
  return nvml::kSuccess;
}

GpuReading NvmlDevice::read(NvmlLibrary& library, std::int64_t now_us, bool& stale) {
  GpuReading reading = identity_;
  if (place_.handle == nullptr) {
    stale = true;
    reading.trouble = trouble_text(library, nvml::kGpuIsLost);
    return reading;
  }
  nvml::Memory memory;
  if (const int code = library.memory(place_.handle, &memory); code != nvml::kSuccess) {
    stale = stale || code != nvml::kGpuIsLost;
    reading.trouble = trouble_text(library, code);
    return reading;
  }
  reading.used = std::min(mib_from_bytes(memory.used), reading.memory);
  nvml::Utilization utilization;
  if (library.utilization(place_.handle, &utilization) == nvml::kSuccess) {
    reading.utilization = share_from_percent(utilization.gpu);
  }
  read_processes(library, now_us, reading);
  reading.trouble = health(library, now_us);
  return reading;
}

std::string NvmlDevice::health(NvmlLibrary& library, std::int64_t now_us) {
  unsigned celsius = 0;
  const int code = library.temperature(place_.whole, &celsius);
  // It may be lost only since the memory was read, a moment ago.
  if (code == nvml::kGpuIsLost || code == nvml::kResetRequired) return trouble_text(library, code);
  const bool over = code == nvml::kSuccess && slowdown_celsius_ > 0 && celsius >= slowdown_celsius_;
  unsigned long long reasons = 0;
  const bool throttled = library.throttle_reasons(place_.whole, &reasons) == nvml::kSuccess &&
                         (reasons & nvml::kHardwareThermalSlowdown) != 0;
  const bool too_hot = thermal_.judge(over || throttled);
  if (memory_checked_us_ == 0 || now_us - memory_checked_us_ >= kMemoryCheckEvery) {
    check_memory(library);
    memory_checked_us_ = now_us;
  }
  if (!memory_trouble_.empty()) return memory_trouble_;
  if (!too_hot) return {};
  std::string text = "too hot (" + std::to_string(celsius) + " °C";
  if (slowdown_celsius_ > 0) text += ", slows down at " + std::to_string(slowdown_celsius_) + " °C";
  return text + "): check its cooling";
}

void NvmlDevice::check_memory(NvmlLibrary& library) {
  memory_trouble_.clear();
  unsigned long long errors = 0;
  bool pending = false;
  bool failed = false;
  if (library.uncorrected_errors(place_.whole, &errors) == nvml::kSuccess && errors > 0) {
    memory_trouble_ = std::to_string(errors) +
                      " uncorrectable memory error(s) (ECC): reset the GPU, or replace it";
  } else if (library.remapped_rows(place_.whole, &pending, &failed) == nvml::kSuccess) {
    if (failed) memory_trouble_ = "memory rows could not be remapped: replace the GPU";
    if (pending && !failed) memory_trouble_ = "memory rows wait to be remapped: reset the GPU";
  }
}

void NvmlDevice::read_processes(NvmlLibrary& library, std::int64_t now_us, GpuReading& reading) {
  library.processes(place_.handle, listed_);
  reading.processes.reserve(listed_.size());
  for (const NvmlProcess& listed : listed_) {
    const MiB memory =
        listed.bytes == nvml::kNotAvailable ? kMemoryNotTold : mib_from_bytes(listed.bytes);
    reading.processes.push_back({listed.pid, memory, {}});
  }
  merge_processes(reading.processes);
  fill_in_memory(reading.processes, reading.used);
  if (reading.processes.empty()) {
    sampled_.clear();
  } else if (!read_utilization(library, now_us, reading)) {
    share_utilization(reading.processes, reading.utilization);
  }
}

bool NvmlDevice::read_utilization(NvmlLibrary& library, std::int64_t now_us, GpuReading& reading) {
  if (!samples_supported_) return false;
  const int code = library.samples(place_.handle, last_sample_, samples_);
  if (code != nvml::kSuccess && code != nvml::kNotFound) {
    samples_supported_ = code != nvml::kNotSupported && code != nvml::kInvalidArgument;
    return false;
  }
  for (const nvml::ProcessSample& sample : samples_) {
    // Drivers are known to return entries of no process, and of more than all.
    if (sample.pid == 0 || sample.sm > 100) continue;
    last_sample_ = std::max(last_sample_, sample.timestamp);
    auto known = std::find_if(sampled_.begin(), sampled_.end(),
                              [&](const Sampled& one) { return one.pid == sample.pid; });
    if (known == sampled_.end()) known = sampled_.insert(known, Sampled{sample.pid, {}, 0, 0});
    if (sample.timestamp < known->timestamp) continue;
    *known = {sample.pid, share_from_percent(sample.sm), sample.timestamp, now_us};
  }
  std::erase_if(sampled_,
                [&](const Sampled& one) { return now_us - one.heard_us > kSampleLifetime; });
  for (const Sampled& one : sampled_) {
    const auto process =
        std::lower_bound(reading.processes.begin(), reading.processes.end(), one.pid,
                         [](const GpuProcess& p, unsigned pid) { return p.pid < pid; });
    if (process != reading.processes.end() && process->pid == one.pid) {
      process->utilization = one.utilization;
    }
  }
  return true;
}

}  // namespace tutti
