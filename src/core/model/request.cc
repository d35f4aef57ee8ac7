#include "core/model/request.h"

#include <algorithm>

namespace tutti {
namespace {

constexpr std::int64_t kCpusOfAGpu = 16'000;
constexpr std::int64_t kMemoryOfAGpu = 81'920;

MilliCpu weight_of_part(MiB memory, MilliGpu share) {
  const std::int64_t by_memory = memory.value * 1000 / kMemoryOfAGpu;
  const std::int64_t part = std::clamp<std::int64_t>(std::max(share.value, by_memory), 0, 1000);
  return MilliCpu(kCpusOfAGpu * part / 1000);
}

}  // namespace

MilliCpu weight_of(const Allocation& allocation) {
  MilliCpu weight = allocation.cpus;
  for (const DeviceGrant& grant : allocation.devices)
    weight += weight_of_part(grant.memory, grant.share);
  return weight;
}

MilliCpu weight_of(const Request& request) {
  const DeviceRequest& devices = request.devices;
  const MilliGpu share = devices.whole() ? MilliGpu(1000) : devices.share;
  return request.cpus + weight_of_part(devices.memory, share) * devices.count;
}

Request with_configuration(const Request& request, const Configuration& configuration) {
  Request one = request;
  one.configurations.clear();
  one.devices.count = configuration.count;
  one.devices.type = configuration.type;
  return one;
}

std::vector<Request> variants_of(const Request& request) {
  if (request.configurations.empty()) return {request};
  std::vector<Request> variants;
  for (const Configuration& configuration : request.configurations)
    variants.push_back(with_configuration(request, configuration));
  return variants;
}

}  // namespace tutti
