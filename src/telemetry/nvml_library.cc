#include "telemetry/nvml_library.h"

#include <algorithm>
#include <array>

#include "telemetry/driver_text.h"

namespace tutti {
namespace {

// More than any GPU has; a count above it is garbage.
constexpr unsigned kMostProcesses = 1 << 16;

}  // namespace

Result<std::unique_ptr<NvmlLibrary>> NvmlLibrary::open(const std::string& path) {
  auto opened = SharedLibrary::open(path);
  if (!opened) return opened.error();
  std::unique_ptr<NvmlLibrary> library(new NvmlLibrary(std::move(*opened)));
  if (const auto resolved = library->resolve(path); !resolved) return resolved.error();
  return library;
}

template <typename Function>
void NvmlLibrary::find(Pointer<Function>& function,
                       std::initializer_list<const char*> names) const {
  for (const char* name : names) {
    function = reinterpret_cast<Pointer<Function>>(library_.find(name));
    if (function != nullptr) return;
  }
}

NvmlLibrary::ProcessList NvmlLibrary::find_list(const std::string& name) const {
  ProcessList list;
  find(list.call, {(name + "_v3").c_str(), (name + "_v2").c_str()});
  if (list.call != nullptr) return list;
  find(list.call, {name.c_str()});
  list.old_layout = true;
  return list;
}

Result<void> NvmlLibrary::resolve(const std::string& path) {
  find(init_, {"nvmlInit_v2", "nvmlInit"});
  find(shutdown_, {"nvmlShutdown"});
  find(error_string_, {"nvmlErrorString"});
  find(count_, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  find(device_at_, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  find(uuid_, {"nvmlDeviceGetUUID"});
  find(name_, {"nvmlDeviceGetName"});
  find(pci_, {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"});
  find(memory_, {"nvmlDeviceGetMemoryInfo"});
  find(utilization_, {"nvmlDeviceGetUtilizationRates"});
  find(temperature_, {"nvmlDeviceGetTemperature"});
  find(threshold_, {"nvmlDeviceGetTemperatureThreshold"});
  find(throttle_,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(ecc_, {"nvmlDeviceGetTotalEccErrors"});
  find(remapped_, {"nvmlDeviceGetRemappedRows"});
  find(mig_mode_, {"nvmlDeviceGetMigMode"});
  find(slice_limit_, {"nvmlDeviceGetMaxMigDeviceCount"});
  find(slice_at_, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  find(samples_, {"nvmlDeviceGetProcessUtilization"});
  compute_ = find_list("nvmlDeviceGetComputeRunningProcesses");
  graphics_ = find_list("nvmlDeviceGetGraphicsRunningProcesses");
  emulated_ = library_.find("tutti_emulator_version") != nullptr;
  if (init_ == nullptr || count_ == nullptr || device_at_ == nullptr || uuid_ == nullptr ||
      memory_ == nullptr) {
    return Error{ErrorCode::kUnsupported,
                 path + " lacks functions that NVML has; it is not NVIDIA's library, or too old"};
  }
  return {};
}

std::string NvmlLibrary::text_of(int code) const {
  const char* text = error_string_ != nullptr ? error_string_(code) : nullptr;
  const std::string number = std::to_string(code);
  if (text == nullptr) return "code " + number;
  return printable_text(text) + ", code " + number;
}

void NvmlLibrary::shutdown() const {
  if (shutdown_ != nullptr) shutdown_();
}

namespace {

int text(int (*call)(nvml::Device, char*, unsigned), nvml::Device device, std::string* out) {
  if (call == nullptr) return nvml::kNotSupported;
  // One byte more than the library knows of: the text ends whatever it writes.
  std::array<char, 97> buffer{};
  const int code = call(device, buffer.data(), static_cast<unsigned>(buffer.size() - 1));
  if (code == nvml::kSuccess) *out = printable_text(buffer.data());
  return code;
}

}  // namespace

int NvmlLibrary::uuid(nvml::Device device, std::string* out) const {
  return text(uuid_, device, out);
}

int NvmlLibrary::name(nvml::Device device, std::string* out) const {
  return text(name_, device, out);
}

int NvmlLibrary::pci(nvml::Device device, nvml::PciPlace* place) const {
  return pci_ == nullptr ? nvml::kNotSupported : pci_(device, place);
}

int NvmlLibrary::utilization(nvml::Device device, nvml::Utilization* utilization) const {
  return utilization_ == nullptr ? nvml::kNotSupported : utilization_(device, utilization);
}

int NvmlLibrary::temperature(nvml::Device device, unsigned* celsius) const {
  if (temperature_ == nullptr) return nvml::kNotSupported;
  return temperature_(device, nvml::kTemperatureOfDie, celsius);
}

int NvmlLibrary::slowdown_temperature(nvml::Device device, unsigned* celsius) const {
  if (threshold_ == nullptr) return nvml::kNotSupported;
  return threshold_(device, nvml::kSlowdownThreshold, celsius);
}

int NvmlLibrary::throttle_reasons(nvml::Device device, unsigned long long* reasons) const {
  return throttle_ == nullptr ? nvml::kNotSupported : throttle_(device, reasons);
}

int NvmlLibrary::uncorrected_errors(nvml::Device device, unsigned long long* errors) const {
  if (ecc_ == nullptr) return nvml::kNotSupported;
  return ecc_(device, nvml::kUncorrectedErrors, nvml::kVolatileCounter, errors);
}

int NvmlLibrary::remapped_rows(nvml::Device device, bool* pending, bool* failed) const {
  if (remapped_ == nullptr) return nvml::kNotSupported;
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned is_pending = 0;
  unsigned has_failed = 0;
  const int code = remapped_(device, &corrected, &uncorrected, &is_pending, &has_failed);
  *pending = code == nvml::kSuccess && is_pending != 0;
  *failed = code == nvml::kSuccess && has_failed != 0;
  return code;
}

bool NvmlLibrary::sliced(nvml::Device device) const {
  if (mig_mode_ == nullptr || slice_limit_ == nullptr || slice_at_ == nullptr) return false;
  unsigned now = 0;
  unsigned later = 0;
  return mig_mode_(device, &now, &later) == nvml::kSuccess && now == nvml::kMigEnabled;
}

int NvmlLibrary::slice_limit(nvml::Device device, unsigned* count) const {
  return slice_limit_ == nullptr ? nvml::kNotSupported : slice_limit_(device, count);
}

int NvmlLibrary::slice_at(nvml::Device device, unsigned index, nvml::Device* slice) const {
  return slice_at_ == nullptr ? nvml::kNotSupported : slice_at_(device, index, slice);
}

template <typename Entry>
int NvmlLibrary::append_list(const ProcessList& list, nvml::Device device,
                             std::vector<Entry>& buffer, std::vector<NvmlProcess>& out) const {
  if (buffer.empty()) buffer.resize(64);
  int code = nvml::kInsufficientSize;
  unsigned count = 0;
  // Processes may start between the calls, so that the size just told is too small again.
  for (int tries = 0; tries < 4 && code == nvml::kInsufficientSize; ++tries) {
    count = static_cast<unsigned>(buffer.size());
    code = list.call(device, &count, buffer.data());
    if (code != nvml::kInsufficientSize) break;
    const std::size_t wanted = std::max<std::size_t>(count, buffer.size()) + 32;
    if (wanted > kMostProcesses) return nvml::kInvalidArgument;
    buffer.resize(wanted);
  }
  if (code != nvml::kSuccess) return code;
  count = std::min(count, static_cast<unsigned>(buffer.size()));
  for (unsigned i = 0; i < count; ++i) out.push_back({buffer[i].pid, buffer[i].used_memory});
  return code;
}

int NvmlLibrary::append(const ProcessList& list, nvml::Device device,
                        std::vector<NvmlProcess>& out) {
  if (list.call == nullptr) return nvml::kNotSupported;
  return list.old_layout ? append_list(list, device, old_entries_, out)
                         : append_list(list, device, entries_, out);
}

int NvmlLibrary::processes(nvml::Device device, std::vector<NvmlProcess>& out) {
  out.clear();
  const int code = append(compute_, device, out);
  append(graphics_, device, out);
  return code;
}

int NvmlLibrary::samples(nvml::Device device, unsigned long long since,
                         std::vector<nvml::ProcessSample>& out) const {
  if (samples_ == nullptr) return nvml::kNotSupported;
  if (out.size() < 128) out.resize(128);
  int code = nvml::kInsufficientSize;
  unsigned count = 0;
  for (int tries = 0; tries < 4; ++tries) {
    count = static_cast<unsigned>(out.size());
    code = samples_(device, out.data(), &count, since);
    if (code != nvml::kInsufficientSize) break;
    const std::size_t wanted = std::max<std::size_t>(count, out.size()) + 32;
    if (wanted > kMostProcesses) break;
    out.resize(wanted);
  }
  out.resize(code == nvml::kSuccess ? std::min<std::size_t>(count, out.size()) : 0);
  return code;
}

}  // namespace tutti
