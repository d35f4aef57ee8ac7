#include "telemetry/rocm_library.h"

#include "telemetry/driver_text.h"

namespace tutti {

Result<std::unique_ptr<RocmLibrary>> RocmLibrary::open(const std::string& path) {
  auto opened = SharedLibrary::open(path);
  if (!opened) return opened.error();
  std::unique_ptr<RocmLibrary> library(new RocmLibrary(std::move(*opened)));
  library->resolve();
  if (library->init == nullptr || library->count == nullptr || library->memory_total == nullptr ||
      library->memory_used == nullptr) {
    return Error{ErrorCode::kUnsupported,
                 path + " lacks functions that ROCm SMI has; it is not AMD's library, or too old"};
  }
  return library;
}

void RocmLibrary::resolve() {
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library_.find(symbol));
  };
  find(init, "rsmi_init");
  find(shutdown, "rsmi_shut_down");
  find(count, "rsmi_num_monitor_devices");
  find(memory_total, "rsmi_dev_memory_total_get");
  find(memory_used, "rsmi_dev_memory_usage_get");
  find(name, "rsmi_dev_name_get");
  find(brand, "rsmi_dev_brand_get");
  find(unique_id, "rsmi_dev_unique_id_get");
  find(pci, "rsmi_dev_pci_id_get");
  find(busy_percent, "rsmi_dev_busy_percent_get");
  find(error_counts, "rsmi_dev_ecc_count_get");
  find(processes, "rsmi_compute_process_info_get");
  find(gpus_of_process, "rsmi_compute_process_gpus_get");
  find(process_on_gpu, "rsmi_compute_process_info_by_device_get");
  find(status_string_, "rsmi_status_string");
}

std::string RocmLibrary::text_of(int code) const {
  const char* text = nullptr;
  if (status_string_ != nullptr) status_string_(code, &text);
  const std::string number = std::to_string(code);
  return text == nullptr ? "code " + number : printable_text(text) + ", code " + number;
}

}  // namespace tutti
