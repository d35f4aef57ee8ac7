#include "telemetry/nvml_source.h"

#include <algorithm>

namespace tutti {
namespace {

// Slices come and go without a change in the number of GPUs.
constexpr std::int64_t kListEvery = 30000000;
constexpr unsigned kMostSlices = 64;
// While a GPU is lost the list is always in doubt; making it is slow.
constexpr std::int64_t kListPause = 1000000;

}  // namespace

Result<std::unique_ptr<NvmlSource>> NvmlSource::open(const std::string& path,
                                                     MonotonicClock clock) {
  auto library = NvmlLibrary::open(path.empty() ? "libnvidia-ml.so.1" : path);
  if (!library) return library.error();
  std::unique_ptr<NvmlSource> source(new NvmlSource(std::move(*library), std::move(clock)));
  const int code = source->start();
  if (code == nvml::kDriverNotLoaded || code == nvml::kLibraryNotFound) {
    return not_found("no NVIDIA driver is loaded (NVML: " + source->library_->text_of(code) + ")");
  }
  return source;
}

NvmlSource::~NvmlSource() {
  if (initialised_) library_->shutdown();
}

int NvmlSource::start() {
  if (initialised_) library_->shutdown();
  started_us_ = clock_();
  listed_us_ = 0;
  const int code = library_->init();
  initialised_ = code == nvml::kSuccess;
  if (!initialised_) static_cast<void>(failure("initialise", code));
  return code;
}

Error NvmlSource::failure(const char* what, int code) {
  failing_ = true;
  last_error_ = {ErrorCode::kUnavailable,
                 std::string("NVML cannot ") + what + " (" + library_->text_of(code) +
                     "): nothing can be said about NVIDIA GPUs now; if this stays, reload the "
                     "driver or restart the machine"};
  return last_error_;
}

Result<std::vector<GpuReading>> NvmlSource::read() {
  if ((failing_ || !initialised_) && clock_() - started_us_ >= kRestartEvery) start();
  if (!initialised_) return last_error_;
  if (const int code = refresh(); code != nvml::kSuccess) return failure("list the GPUs", code);
  failing_ = false;
  std::vector<GpuReading> readings;
  readings.reserve(devices_.size());
  const std::int64_t now = clock_();
  for (NvmlDevice& device : devices_) readings.push_back(device.read(*library_, now, stale_));
  return readings;
}

int NvmlSource::refresh() {
  unsigned count = 0;
  if (const int code = library_->count(&count); code != nvml::kSuccess) return code;
  if (count > kMostDevices) return nvml::kInvalidArgument;
  const std::int64_t now = clock_();
  const std::int64_t lifetime = stale_ ? kListPause : kListEvery;
  if (listed_us_ != 0 && count == count_ && now - listed_us_ < lifetime) return nvml::kSuccess;
  count_ = count;
  listed_us_ = now;
  stale_ = false;
  std::vector<NvmlDevice> found;
  std::vector<unsigned> lost;
  for (unsigned index = 0; index < count; ++index) {
    if (!add_gpu(index, found)) lost.push_back(index);
  }
  for (const unsigned index : lost) keep_lost(index, found);
  std::stable_sort(found.begin(), found.end(), [](const NvmlDevice& a, const NvmlDevice& b) {
    return a.pci_bus() < b.pci_bus();
  });
  devices_ = std::move(found);
  return nvml::kSuccess;
}

// False when the GPU, or a part of it, does not say who it is.
bool NvmlSource::add_gpu(unsigned index, std::vector<NvmlDevice>& found) {
  NvmlDevice::Place place{index, -1, nullptr, nullptr};
  const int code = library_->device_at(index, &place.whole);
  if (code != nvml::kSuccess || place.whole == nullptr) return false;
  place.handle = place.whole;
  if (!library_->sliced(place.whole)) return add_device(place, found);
  unsigned limit = 0;
  bool all = library_->slice_limit(place.whole, &limit) == nvml::kSuccess;
  for (unsigned slice = 0; slice < std::min(limit, kMostSlices); ++slice) {
    place.slice = static_cast<int>(slice);
    place.handle = nullptr;
    const int got = library_->slice_at(place.whole, slice, &place.handle);
    if (got == nvml::kSuccess && place.handle != nullptr) {
      all = add_device(place, found) && all;
    } else if (got != nvml::kNotFound) {
      all = false;
    }
  }
  return all;
}

// A device that is known keeps what it remembers.
bool NvmlSource::add_device(const NvmlDevice::Place& place, std::vector<NvmlDevice>& found) {
  NvmlDevice device;
  if (NvmlDevice::identify(*library_, place, device) != nvml::kSuccess) return false;
  const auto same = [&](const NvmlDevice& other) { return other.uuid() == device.uuid(); };
  if (std::any_of(found.begin(), found.end(), same)) return true;
  const auto known = std::find_if(devices_.begin(), devices_.end(), same);
  if (known == devices_.end()) {
    found.push_back(std::move(device));
  } else {
    known->move_to(place);
    found.push_back(*known);
  }
  return true;
}

// A GPU that is counted but no longer says who it is: it is taken for what stood at its index,
// unless that was found elsewhere.
void NvmlSource::keep_lost(unsigned index, std::vector<NvmlDevice>& found) {
  for (NvmlDevice& device : devices_) {
    const auto same = [&](const NvmlDevice& other) { return other.uuid() == device.uuid(); };
    if (device.place().index != index || std::any_of(found.begin(), found.end(), same)) continue;
    device.lose();
    found.push_back(device);
  }
}

}  // namespace tutti
