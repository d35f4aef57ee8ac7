// A librocm_smi64.so that says what a test tells it.

#include "tests/support/fake_rocm_smi.h"

#include <cstddef>
#include <cstdio>

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE FakeRocmWorld fake_rocm_world;
FakeRocmWorld fake_rocm_world = {};

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 2;
constexpr int kNotFound = 10;
constexpr int kInsufficientSize = 11;

struct Process {
  std::uint32_t pid, pasid;
  std::uint64_t vram, sdma;
  std::uint32_t occupancy;
};

FakeRocmWorld& world = fake_rocm_world;

int process_at(std::uint32_t pid) {
  for (std::uint32_t i = 0; i < world.processes; ++i) {
    if (world.pids[i] == pid) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

FAKE int rsmi_init(std::uint64_t) {
  ++world.init_calls;
  return world.init_code;
}
FAKE int rsmi_shut_down() {
  return kSuccess;
}
FAKE int rsmi_status_string(int code, const char** text) {
  *text = code == 8 ? "initialisation error" : "some error";
  return kSuccess;
}
FAKE int rsmi_num_monitor_devices(std::uint32_t* count) {
  *count = world.count;
  return world.count_code;
}
FAKE int rsmi_dev_name_get(std::uint32_t, char* name, std::size_t size) {
  std::snprintf(name, size, "AMD Instinct MI210");
  return kSuccess;
}
FAKE int rsmi_dev_unique_id_get(std::uint32_t index, std::uint64_t* id) {
  *id = world.unique_ids[index];
  return *id == 0 ? kNotSupported : kSuccess;
}
FAKE int rsmi_dev_pci_id_get(std::uint32_t index, std::uint64_t* id) {
  *id = world.pci_ids[index];
  return kSuccess;
}
FAKE int rsmi_dev_memory_total_get(std::uint32_t, int, std::uint64_t* bytes) {
  *bytes = world.total;
  return kSuccess;
}
FAKE int rsmi_dev_memory_usage_get(std::uint32_t index, int, std::uint64_t* bytes) {
  *bytes = world.used[index];
  return world.used_codes[index];
}
FAKE int rsmi_dev_busy_percent_get(std::uint32_t, std::uint32_t* percent) {
  *percent = world.busy;
  return kSuccess;
}
FAKE int rsmi_dev_ecc_count_get(std::uint32_t, std::uint64_t, std::uint64_t* counts) {
  counts[0] = 0;
  counts[1] = world.uncorrected;
  counts[2] = 0;
  return kSuccess;
}
FAKE int rsmi_compute_process_info_get(Process* processes, std::uint32_t* count) {
  const std::uint32_t room = *count;
  *count = world.processes;
  if (processes == nullptr) return kSuccess;
  for (std::uint32_t i = 0; i < world.processes && i < room; ++i) {
    processes[i] = {world.pids[i], 0, 0, 0, 0};
  }
  return room < world.processes ? kInsufficientSize : kSuccess;
}
FAKE int rsmi_compute_process_gpus_get(std::uint32_t pid, std::uint32_t* indices,
                                       std::uint32_t* count) {
  const int at = process_at(pid);
  if (at < 0) return kNotFound;
  std::uint32_t used = 0;
  for (std::uint32_t index = 0; index < 4; ++index) {
    if ((world.gpus_of[at] >> index & 1) != 0 && used < *count) indices[used++] = index;
  }
  *count = used;
  return kSuccess;
}
FAKE int rsmi_compute_process_info_by_device_get(std::uint32_t pid, std::uint32_t,
                                                 Process* process) {
  const int at = process_at(pid);
  if (at < 0) return kNotFound;
  *process = {pid, 0, world.vram_of[at], 0, 0};
  return kSuccess;
}
