#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "telemetry/nvml_abi.h"
#include "telemetry/shared_library.h"

namespace tutti {

// A process in one of the driver's lists.
struct NvmlProcess {
  unsigned pid = 0;
  unsigned long long bytes = 0;  // nvml::kNotAvailable: not told
};

// The functions of one opened libnvidia-ml, each in the newest version that it has. A function that
// it lacks answers nvml::kNotSupported. Knows nothing of what the answers mean. One thread.
class NvmlLibrary {
 public:
  // Not initialised yet: see init().
  static Result<std::unique_ptr<NvmlLibrary>> open(const std::string& path);

  // Whether it is the emulator, not a driver's library.
  bool emulated() const { return emulated_; }
  // The library's own words for a code, and the number.
  std::string text_of(int code) const;

  int init() const { return init_(); }
  void shutdown() const;
  int count(unsigned* count) const { return count_(count); }
  int device_at(unsigned index, nvml::Device* device) const { return device_at_(index, device); }
  int uuid(nvml::Device device, std::string* text) const;
  int name(nvml::Device device, std::string* text) const;
  int pci(nvml::Device device, nvml::PciPlace* place) const;
  int memory(nvml::Device device, nvml::Memory* memory) const { return memory_(device, memory); }
  int utilization(nvml::Device device, nvml::Utilization* utilization) const;
  int temperature(nvml::Device device, unsigned* celsius) const;
  int slowdown_temperature(nvml::Device device, unsigned* celsius) const;
  int throttle_reasons(nvml::Device device, unsigned long long* reasons) const;
  int uncorrected_errors(nvml::Device device, unsigned long long* errors) const;
  int remapped_rows(nvml::Device device, bool* pending, bool* failed) const;

  // The GPU is cut into slices; they are its devices.
  bool sliced(nvml::Device device) const;
  int slice_limit(nvml::Device device, unsigned* count) const;
  int slice_at(nvml::Device device, unsigned index, nvml::Device* slice) const;

  // Both lists together; a process that stands in both does so twice. `out` is overwritten.
  int processes(nvml::Device device, std::vector<NvmlProcess>& out);
  // Those newer than `since`; kNotFound when there are none. `out` is overwritten.
  int samples(nvml::Device device, unsigned long long since,
              std::vector<nvml::ProcessSample>& out) const;

 private:
  template <typename Function>
  using Pointer = Function*;
  using ListFunction = int(nvml::Device, unsigned*, void*);

  // The process lists of one kind, and the layout of their entries.
  struct ProcessList {
    Pointer<ListFunction> call = nullptr;
    bool old_layout = false;
  };

  explicit NvmlLibrary(SharedLibrary library) : library_(std::move(library)) {}
  Result<void> resolve(const std::string& path);
  ProcessList find_list(const std::string& name) const;
  template <typename Entry>
  int append_list(const ProcessList& list, nvml::Device device, std::vector<Entry>& buffer,
                  std::vector<NvmlProcess>& out) const;
  int append(const ProcessList& list, nvml::Device device, std::vector<NvmlProcess>& out);
  template <typename Function>
  void find(Pointer<Function>& function, std::initializer_list<const char*> names) const;

  SharedLibrary library_;
  bool emulated_ = false;
  std::vector<nvml::ProcessV1> old_entries_;
  std::vector<nvml::ProcessV2> entries_;

  Pointer<int()> init_ = nullptr;
  Pointer<int()> shutdown_ = nullptr;
  Pointer<const char*(int)> error_string_ = nullptr;
  Pointer<int(unsigned*)> count_ = nullptr;
  Pointer<int(unsigned, nvml::Device*)> device_at_ = nullptr;
  Pointer<int(nvml::Device, char*, unsigned)> uuid_ = nullptr;
  Pointer<int(nvml::Device, char*, unsigned)> name_ = nullptr;
  Pointer<int(nvml::Device, nvml::PciPlace*)> pci_ = nullptr;
  Pointer<int(nvml::Device, nvml::Memory*)> memory_ = nullptr;
  Pointer<int(nvml::Device, nvml::Utilization*)> utilization_ = nullptr;
  Pointer<int(nvml::Device, unsigned, unsigned*)> temperature_ = nullptr;
  Pointer<int(nvml::Device, unsigned, unsigned*)> threshold_ = nullptr;
  Pointer<int(nvml::Device, unsigned long long*)> throttle_ = nullptr;
  Pointer<int(nvml::Device, unsigned, unsigned, unsigned long long*)> ecc_ = nullptr;
  Pointer<int(nvml::Device, unsigned*, unsigned*, unsigned*, unsigned*)> remapped_ = nullptr;
  Pointer<int(nvml::Device, unsigned*, unsigned*)> mig_mode_ = nullptr;
  Pointer<int(nvml::Device, unsigned*)> slice_limit_ = nullptr;
  Pointer<int(nvml::Device, unsigned, nvml::Device*)> slice_at_ = nullptr;
  Pointer<int(nvml::Device, nvml::ProcessSample*, unsigned*, unsigned long long)> samples_ =
      nullptr;
  ProcessList compute_;
  ProcessList graphics_;
};

}  // namespace tutti
