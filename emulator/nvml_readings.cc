// Clocks, heat, power, errors and links: plausible numbers that follow utilisation and faults.

#include <algorithm>

#include "emulator/nvml_session.h"

using namespace tutti;
using namespace tutti::emulator;

namespace {

constexpr unsigned int kShutdownCelsius = 95;
constexpr unsigned int kSlowdownCelsius = 90;
constexpr unsigned int kHotCelsius = 93;
constexpr unsigned int kMaxCelsius = 88;

unsigned int busy_percent(LockedGpus& gpus, int unit) {
  return std::min(last_seen_demand(gpus, gpus->units[unit].gpu), 100u);
}

unsigned int max_clock(unsigned int clock) {
  return clock == nvml::kClockMemory ? 1593 : clock == nvml::kClockVideo ? 1290 : 1410;
}

unsigned int milliwatts_limit(LockedGpus& gpus, int unit) {
  return static_cast<unsigned int>(gpus->units[unit].watts) * 1000;
}

int constant(nvml::Device device, unsigned int* number, unsigned int value) {
  return answer_number(device, number, [&](LockedGpus&, int) { return value; });
}

int not_there(nvml::Device device) {
  return answer_for(device, [](LockedGpus&, int) -> int { return nvml::kNotSupported; });
}

unsigned long long uncorrected_errors(LockedGpus& gpus, int unit) {
  return fault_of(gpus, unit) == Fault::kEcc ? 3 : 0;
}

int codec_utilization(nvml::Device device, unsigned int* percent, unsigned int* period) {
  return answer_number(device, percent, [&](LockedGpus&, int) {
    if (period != nullptr) *period = 20'000;
    return 0;
  });
}

int throttle_reasons(nvml::Device device, unsigned long long* reasons) {
  return answer_number(device, reasons, [](LockedGpus& gpus, int unit) -> unsigned long long {
    if (fault_of(gpus, unit) == Fault::kHot)
      return nvml::kThrottleHwSlowdown | nvml::kThrottleHwThermal;
    return busy_percent(gpus, unit) == 0 ? nvml::kThrottleGpuIdle : 0;
  });
}

int no_retired_pages(nvml::Device device, unsigned int* count) {
  return constant(device, count, 0);
}

}  // namespace

TUTTI_NVML nvmlDeviceGetClockInfo(nvml::Device device, unsigned int clock, unsigned int* mhz) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) -> int {
    if (mhz == nullptr || clock > nvml::kClockVideo) return nvml::kInvalidArgument;
    const bool slow = busy_percent(gpus, unit) == 0 || fault_of(gpus, unit) == Fault::kHot;
    *mhz = slow && clock != nvml::kClockMemory ? 210 : max_clock(clock);
    return nvml::kSuccess;
  });
}

TUTTI_NVML nvmlDeviceGetMaxClockInfo(nvml::Device device, unsigned int clock, unsigned int* mhz) {
  return answer_for(device, [&](LockedGpus&, int) -> int {
    if (mhz == nullptr || clock > nvml::kClockVideo) return nvml::kInvalidArgument;
    *mhz = max_clock(clock);
    return nvml::kSuccess;
  });
}

TUTTI_NVML nvmlDeviceGetTemperature(nvml::Device device, unsigned int sensor,
                                    unsigned int* celsius) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) -> int {
    if (celsius == nullptr || sensor != 0) return nvml::kInvalidArgument;
    const bool hot = fault_of(gpus, unit) == Fault::kHot;
    *celsius = hot ? kHotCelsius : 35 + busy_percent(gpus, unit) * 2 / 5;
    return nvml::kSuccess;
  });
}

TUTTI_NVML nvmlDeviceGetTemperatureThreshold(nvml::Device device, unsigned int threshold,
                                             unsigned int* celsius) {
  return answer_for(device, [&](LockedGpus&, int) -> int {
    if (celsius == nullptr) return nvml::kInvalidArgument;
    switch (threshold) {
      case nvml::kThresholdShutdown:
        *celsius = kShutdownCelsius;
        return nvml::kSuccess;
      case nvml::kThresholdSlowdown:
        *celsius = kSlowdownCelsius;
        return nvml::kSuccess;
      case nvml::kThresholdMemoryMax:
      case nvml::kThresholdGpuMax:
        *celsius = kMaxCelsius;
        return nvml::kSuccess;
      default:
        return nvml::kNotSupported;
    }
  });
}

TUTTI_NVML nvmlDeviceGetPowerUsage(nvml::Device device, unsigned int* milliwatts) {
  return answer_number(device, milliwatts, [](LockedGpus& gpus, int unit) {
    return milliwatts_limit(gpus, unit) / 100 * (14 + busy_percent(gpus, unit) * 8 / 10);
  });
}

TUTTI_NVML nvmlDeviceGetEnforcedPowerLimit(nvml::Device device, unsigned int* milliwatts) {
  return answer_number(device, milliwatts, milliwatts_limit);
}

TUTTI_NVML nvmlDeviceGetPowerManagementLimit(nvml::Device device, unsigned int* milliwatts) {
  return answer_number(device, milliwatts, milliwatts_limit);
}

TUTTI_NVML nvmlDeviceGetCurrentClocksThrottleReasons(nvml::Device device,
                                                     unsigned long long* reasons) {
  return throttle_reasons(device, reasons);
}

TUTTI_NVML nvmlDeviceGetCurrentClocksEventReasons(nvml::Device device,
                                                  unsigned long long* reasons) {
  return throttle_reasons(device, reasons);
}

TUTTI_NVML nvmlDeviceGetEccMode(nvml::Device device, unsigned int* current, unsigned int* pending) {
  return answer_number(device, current, [&](LockedGpus&, int) {
    if (pending != nullptr) *pending = 1;
    return 1;
  });
}

TUTTI_NVML nvmlDeviceGetTotalEccErrors(nvml::Device device, unsigned int kind, unsigned int,
                                       unsigned long long* count) {
  return answer_number(device, count, [&](LockedGpus& gpus, int unit) {
    return kind == nvml::kErrorUncorrected ? uncorrected_errors(gpus, unit) : 0;
  });
}

TUTTI_NVML nvmlDeviceGetMemoryErrorCounter(nvml::Device device, unsigned int kind, unsigned int,
                                           unsigned int location, unsigned long long* count) {
  constexpr unsigned int device_memory = 2;
  return answer_number(device, count, [&](LockedGpus& gpus, int unit) {
    const bool counted = kind == nvml::kErrorUncorrected && location == device_memory;
    return counted ? uncorrected_errors(gpus, unit) : 0;
  });
}

TUTTI_NVML nvmlDeviceGetRetiredPages(nvml::Device device, unsigned int, unsigned int* count,
                                     unsigned long long*) {
  return no_retired_pages(device, count);
}

TUTTI_NVML nvmlDeviceGetRetiredPages_v2(nvml::Device device, unsigned int, unsigned int* count,
                                        unsigned long long*, unsigned long long*) {
  return no_retired_pages(device, count);
}

TUTTI_NVML nvmlDeviceGetRetiredPagesPendingStatus(nvml::Device device, unsigned int* pending) {
  return constant(device, pending, 0);
}

TUTTI_NVML nvmlDeviceGetRemappedRows(nvml::Device device, unsigned int* corrected,
                                     unsigned int* uncorrected, unsigned int* pending,
                                     unsigned int* failed) {
  return answer_for(device, [&](LockedGpus& gpus, int unit) -> int {
    if (!corrected || !uncorrected || !pending || !failed) return nvml::kInvalidArgument;
    const bool sick = fault_of(gpus, unit) == Fault::kEcc;
    *corrected = 0;
    *uncorrected = sick ? 1 : 0;
    *pending = sick ? 1 : 0;
    *failed = 0;
    return nvml::kSuccess;
  });
}

TUTTI_NVML nvmlDeviceGetPerformanceState(nvml::Device device, unsigned int* state) {
  return answer_number(device, state, [](LockedGpus& gpus, int unit) {
    return busy_percent(gpus, unit) == 0 ? 8 : 0;
  });
}

TUTTI_NVML nvmlDeviceGetFanSpeed(nvml::Device device, unsigned int*) {
  return not_there(device);
}

TUTTI_NVML nvmlDeviceGetEncoderUtilization(nvml::Device device, unsigned int* percent,
                                           unsigned int* period) {
  return codec_utilization(device, percent, period);
}

TUTTI_NVML nvmlDeviceGetDecoderUtilization(nvml::Device device, unsigned int* percent,
                                           unsigned int* period) {
  return codec_utilization(device, percent, period);
}

TUTTI_NVML nvmlDeviceGetPcieThroughput(nvml::Device device, unsigned int, unsigned int* kib) {
  return constant(device, kib, 0);
}

TUTTI_NVML nvmlDeviceGetMaxPcieLinkGeneration(nvml::Device device, unsigned int* generation) {
  return constant(device, generation, 4);
}

TUTTI_NVML nvmlDeviceGetMaxPcieLinkWidth(nvml::Device device, unsigned int* width) {
  return constant(device, width, 16);
}

TUTTI_NVML nvmlDeviceGetCurrPcieLinkGeneration(nvml::Device device, unsigned int* generation) {
  return constant(device, generation, 4);
}

TUTTI_NVML nvmlDeviceGetCurrPcieLinkWidth(nvml::Device device, unsigned int* width) {
  return constant(device, width, 16);
}
