// The emulated NVML as its clients call it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "emulator/emulator.h"
#include "emulator/nvml_abi.h"
#include "emulator/temporary_gpus.h"

using tutti::nvml::Device;

extern "C" {
int nvmlInit_v2();
int nvmlShutdown();
int nvmlDeviceGetCount_v2(unsigned int*);
int nvmlDeviceGetHandleByIndex_v2(unsigned int, Device*);
int nvmlDeviceGetHandleByUUID(const char*, Device*);
int nvmlDeviceGetHandleByPciBusId_v2(const char*, Device*);
int nvmlDeviceGetUUID(Device, char*, unsigned int);
int nvmlDeviceGetIndex(Device, unsigned int*);
int nvmlDeviceGetPciInfo_v3(Device, tutti::nvml::PciAddress*);
int nvmlDeviceGetMemoryInfo(Device, tutti::nvml::Memory*);
int nvmlDeviceGetMemoryInfo_v2(Device, tutti::nvml::MemoryV2*);
int nvmlDeviceGetUtilizationRates(Device, tutti::nvml::Utilization*);
int nvmlDeviceGetComputeRunningProcesses(Device, unsigned int*, tutti::nvml::ProcessV1*);
int nvmlDeviceGetComputeRunningProcesses_v3(Device, unsigned int*, tutti::nvml::ProcessV2*);
int nvmlDeviceGetProcessUtilization(Device, tutti::nvml::ProcessSample*, unsigned int*,
                                    unsigned long long);
int nvmlDeviceGetTemperature(Device, unsigned int, unsigned int*);
int nvmlDeviceGetTemperatureThreshold(Device, unsigned int, unsigned int*);
int nvmlDeviceGetTotalEccErrors(Device, unsigned int, unsigned int, unsigned long long*);
int nvmlDeviceGetCurrentClocksThrottleReasons(Device, unsigned long long*);
int nvmlDeviceGetMigMode(Device, unsigned int*, unsigned int*);
int nvmlDeviceGetMigDeviceHandleByIndex(Device, unsigned int, Device*);
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device, Device*);
}

namespace tutti::emulator {
namespace {

using namespace tutti::nvml;

class Nvml : public TemporaryGpus {
 protected:
  void TearDown() override {
    tutti_emulator_fail(0);
    while (nvmlShutdown() == kSuccess) {
    }
    TemporaryGpus::TearDown();
  }

  void begin(const char* spec) {
    create(spec);
    ASSERT_EQ(nvmlInit_v2(), kSuccess);
  }

  static Device device(unsigned int index) {
    Device found = nullptr;
    EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(index, &found), kSuccess);
    return found;
  }

  static unsigned int count() {
    unsigned int number = 0;
    EXPECT_EQ(nvmlDeviceGetCount_v2(&number), kSuccess);
    return number;
  }

  static unsigned int processes_on(unsigned int index) {
    unsigned int number = 0;
    nvmlDeviceGetComputeRunningProcesses_v3(device(index), &number, nullptr);
    return number;
  }
};

TEST_F(Nvml, without_a_file_there_is_no_driver) {
  EXPECT_EQ(nvmlInit_v2(), kDriverNotLoaded);
}

TEST_F(Nvml, before_init_and_after_shutdown_nothing_works) {
  create("T4-16G");
  unsigned int number = 0;
  EXPECT_EQ(nvmlDeviceGetCount_v2(&number), kUninitialized);
  ASSERT_EQ(nvmlInit_v2(), kSuccess);
  EXPECT_EQ(count(), 1u);
  ASSERT_EQ(nvmlShutdown(), kSuccess);
  EXPECT_EQ(nvmlDeviceGetCount_v2(&number), kUninitialized);
}

TEST_F(Nvml, devices_are_found_by_index_uuid_and_bus) {
  begin("3xT4-16G");
  char uuid[80];
  PciAddress address{};
  ASSERT_EQ(nvmlDeviceGetUUID(device(2), uuid, sizeof uuid), kSuccess);
  ASSERT_EQ(nvmlDeviceGetPciInfo_v3(device(2), &address), kSuccess);
  Device found = nullptr;
  EXPECT_EQ(nvmlDeviceGetHandleByUUID(uuid, &found), kSuccess);
  EXPECT_EQ(found, device(2));
  EXPECT_EQ(nvmlDeviceGetHandleByPciBusId_v2(address.bus_id, &found), kSuccess);
  EXPECT_EQ(found, device(2));
  EXPECT_EQ(nvmlDeviceGetHandleByPciBusId_v2(address.bus_id_legacy, &found), kSuccess);
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(3, &found), kInvalidArgument);
  EXPECT_EQ(nvmlDeviceGetUUID(device(2), uuid, 10), kInsufficientSize);
}

TEST_F(Nvml, what_is_no_handle_is_refused) {
  begin("T4-16G");
  Memory memory{};
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(nullptr, &memory), kInvalidArgument);
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(&memory, &memory), kInvalidArgument);
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(device(0), nullptr), kInvalidArgument);
}

TEST_F(Nvml, memory_is_the_sum_over_processes) {
  begin("T4-16G");
  tutti_emulator_allocate("0", kGiB);
  child_that([] { tutti_emulator_allocate("0", 2 * kGiB); });
  Memory memory{};
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(device(0), &memory), kSuccess);
  EXPECT_EQ(memory.used, 3 * kGiB);
  EXPECT_EQ(memory.free, 13 * kGiB);
  MemoryV2 second{};
  EXPECT_EQ(nvmlDeviceGetMemoryInfo_v2(device(0), &second), kArgumentVersionMismatch);
  second.version = kMemoryV2;
  EXPECT_EQ(nvmlDeviceGetMemoryInfo_v2(device(0), &second), kSuccess);
  EXPECT_EQ(second.used, 3 * kGiB);
}

TEST_F(Nvml, a_list_that_does_not_fit_says_how_much_room_it_needs) {
  begin("T4-16G");
  child_that([] { tutti_emulator_allocate("0", 1); });
  child_that([] { tutti_emulator_allocate("0", 2); });
  unsigned int number = 0;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &number, nullptr),
            kInsufficientSize);
  EXPECT_EQ(number, 2u);
  std::array<ProcessV2, 4> processes{};
  number = 1;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &number, processes.data()),
            kInsufficientSize);
  EXPECT_EQ(processes[1].pid, 0u);
  number = 4;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &number, processes.data()),
            kSuccess);
  EXPECT_EQ(number, 2u);
  EXPECT_EQ(processes[0].pid, static_cast<unsigned int>(children_[0]));
  EXPECT_EQ(processes[1].used_memory, 2u);
  EXPECT_EQ(processes[1].gpu_instance, kNoInstance);
}

TEST_F(Nvml, the_first_version_of_the_list_has_short_entries) {
  begin("T4-16G");
  child_that([] { tutti_emulator_allocate("0", 1); });
  child_that([] { tutti_emulator_allocate("0", 2); });
  std::array<ProcessV1, 2> processes{};
  unsigned int number = 2;
  ASSERT_EQ(nvmlDeviceGetComputeRunningProcesses(device(0), &number, processes.data()), kSuccess);
  EXPECT_EQ(processes[1].pid, static_cast<unsigned int>(children_[1]));
  EXPECT_EQ(processes[1].used_memory, 2u);
}

TEST_F(Nvml, an_empty_list_is_a_success) {
  begin("T4-16G");
  unsigned int number = 0;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &number, nullptr), kSuccess);
}

TEST_F(Nvml, a_killed_process_leaves_the_list) {
  begin("T4-16G");
  const pid_t child = child_that([] { tutti_emulator_allocate("0", 1); });
  ASSERT_EQ(processes_on(0), 1u);
  end(child);
  EXPECT_EQ(processes_on(0), 0u);
}

TEST_F(Nvml, samples_are_given_once_for_each_time) {
  begin("T4-16G");
  tutti_emulator_set_utilization("0", 40);
  unsigned int number = 0;
  EXPECT_EQ(nvmlDeviceGetProcessUtilization(device(0), nullptr, &number, 0), kInsufficientSize);
  ASSERT_EQ(number, 1u);
  ProcessSample sample{};
  ASSERT_EQ(nvmlDeviceGetProcessUtilization(device(0), &sample, &number, 0), kSuccess);
  EXPECT_EQ(sample.pid, static_cast<unsigned int>(::getpid()));
  EXPECT_EQ(sample.sm, 40u);
  number = 1;
  EXPECT_EQ(nvmlDeviceGetProcessUtilization(device(0), &sample, &number, sample.time + 60'000'000),
            kNotFound);
}

TEST_F(Nvml, a_crowded_device_is_shared_out) {
  begin("T4-16G");
  for (int i = 0; i < 2; ++i) child_that([] { tutti_emulator_set_utilization("0", 100); });
  Utilization utilization{};
  ASSERT_EQ(nvmlDeviceGetUtilizationRates(device(0), &utilization), kSuccess);
  EXPECT_EQ(utilization.gpu, 100u);
  std::array<ProcessSample, 2> samples{};
  unsigned int number = 2;
  ASSERT_EQ(nvmlDeviceGetProcessUtilization(device(0), samples.data(), &number, 0), kSuccess);
  EXPECT_EQ(samples[0].sm, 50u);
}

TEST_F(Nvml, ecc_and_heat_are_seen_and_end) {
  begin("T4-16G");
  unsigned long long errors = 0;
  unsigned long long reasons = 0;
  unsigned int celsius = 0;
  unsigned int slowdown = 0;
  tutti_emulator_set_fault("0", "ecc");
  ASSERT_EQ(nvmlDeviceGetTotalEccErrors(device(0), kErrorUncorrected, 0, &errors), kSuccess);
  EXPECT_GT(errors, 0u);
  tutti_emulator_set_fault("0", "hot");
  nvmlDeviceGetTemperature(device(0), 0, &celsius);
  nvmlDeviceGetTemperatureThreshold(device(0), kThresholdSlowdown, &slowdown);
  nvmlDeviceGetCurrentClocksThrottleReasons(device(0), &reasons);
  EXPECT_GT(celsius, slowdown);
  EXPECT_TRUE(reasons & kThrottleHwThermal);
  tutti_emulator_set_fault("0", "ok");
  nvmlDeviceGetTemperature(device(0), 0, &celsius);
  nvmlDeviceGetTotalEccErrors(device(0), kErrorUncorrected, 0, &errors);
  EXPECT_LT(celsius, slowdown);
  EXPECT_EQ(errors, 0u);
}

TEST_F(Nvml, a_lost_gpu_is_counted_but_does_not_answer) {
  begin("2xT4-16G");
  const Device lost = device(0);
  tutti_emulator_set_fault("0", "lost");
  Memory memory{};
  Device found = nullptr;
  EXPECT_EQ(count(), 2u);
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(lost, &memory), kGpuIsLost);
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(0, &found), kGpuIsLost);
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(device(1), &memory), kSuccess);
}

TEST_F(Nvml, a_vanished_gpu_is_not_enumerated) {
  begin("2xT4-16G");
  const Device first = device(0);
  const Device second = device(1);
  tutti_emulator_set_fault("0", "vanished");
  Memory memory{};
  unsigned int index = 9;
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(device(0), second);
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(first, &memory), kGpuIsLost);
  ASSERT_EQ(nvmlDeviceGetIndex(second, &index), kSuccess);
  EXPECT_EQ(index, 0u);
}

TEST_F(Nvml, a_failing_library_fails_in_every_call_until_it_is_healed) {
  begin("T4-16G");
  tutti_emulator_fail(kUnknown);
  unsigned int number = 0;
  EXPECT_EQ(nvmlDeviceGetCount_v2(&number), kUnknown);
  EXPECT_EQ(nvmlInit_v2(), kUnknown);
  tutti_emulator_fail(0);
  EXPECT_EQ(nvmlDeviceGetCount_v2(&number), kSuccess);
}

TEST_F(Nvml, slices_are_reached_through_their_gpu) {
  begin("A100-80G/mig3x20G");
  unsigned int current = 0;
  unsigned int pending = 0;
  ASSERT_EQ(nvmlDeviceGetMigMode(device(0), &current, &pending), kSuccess);
  EXPECT_EQ(current, 1u);
  Device slice = nullptr;
  Device parent = nullptr;
  Memory memory{};
  Utilization utilization{};
  ASSERT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(device(0), 2, &slice), kSuccess);
  EXPECT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(device(0), 3, &parent), kNotFound);
  ASSERT_EQ(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(slice, &parent), kSuccess);
  EXPECT_EQ(parent, device(0));
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(slice, &memory), kSuccess);
  EXPECT_EQ(memory.total, 20 * kGiB);
  EXPECT_EQ(nvmlDeviceGetUtilizationRates(slice, &utilization), kNotSupported);
}

}  // namespace
}  // namespace tutti::emulator
