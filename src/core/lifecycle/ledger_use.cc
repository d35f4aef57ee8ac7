// The parts of Ledger that learn from an attempt's end: what its account has used, and what its
// kind needs.
#include <algorithm>

#include "core/lifecycle/ledger.h"

namespace tutti {
namespace {

constexpr std::uint8_t kMostOomRetries = 3;

}  // namespace

void Ledger::account_for(Job& job, const ActiveAttempt& attempt, const AttemptEnded& body,
                         Changes& changes) {
  if (!body.started_at) return;
  const Duration ran = std::max(body.ended_at - body.started_at, Duration(0));
  const GroupKey& key = groups_[job.group].key;
  const MilliCpu weight =
      attempt.allocation.devices.empty() ? attempt.allocation.cpus : weight_of(attempt.allocation);
  const double cpu_seconds =
      static_cast<double>(ran.value) * 1e-6 * static_cast<double>(weight.value) * 1e-3;
  job.served += cpu_seconds;
  usage_.charge(key.account, cpu_seconds, body.ended_at);
  changes.accounts.insert(key.account);
  learn_devices(job, attempt, body.outcome, ran);
  if (body.outcome.ending == Ending::kExited)
    profiles_[key.kind].add(ran, body.outcome.peak_memory);
  changes.kinds.insert(key.kind);
}

// Whether it ran out of device memory because others had what it was granted: that says nothing of
// its need. Nodes elsewhere are measured too seldom to tell.
bool Ledger::was_robbed(const ActiveAttempt& attempt) const {
  const std::vector<Device>& devices = nodes_[attempt.allocation.node.value - 1].devices;
  const std::vector<DeviceGrant>& grants = attempt.allocation.devices;
  return attempt.stop_cause == Ending::kExited && attempt.allocation.node == kThisMachine &&
         std::any_of(grants.begin(), grants.end(), [&](const DeviceGrant& grant) {
           return is_taken_by_others(devices.at(grant.id.value), grant.memory);
         });
}

// A run that ended well tells how much its kind needs; one that ran out of memory, that it needs
// more than it had.
void Ledger::learn_devices(const Job& job, const ActiveAttempt& attempt, const Outcome& outcome,
                           Duration ran) {
  if (attempt.allocation.devices.empty()) return;
  const std::string& kind = groups_[job.group].key.kind;
  const DeviceGrant& grant = attempt.allocation.devices.front();
  const Device& device = node_at(attempt.allocation.node).devices.at(grant.id.value);
  const auto count = static_cast<std::uint32_t>(attempt.allocation.devices.size());
  if (outcome.succeeded()) profiles_[kind].add_time(device.type, count, ran);
  if (outcome.succeeded() && outcome.device_measured)
    profiles_[kind].add_device(device.type, outcome.device_memory, outcome.device_share,
                               outcome.preallocates);
  if (outcome.ending != Ending::kDeviceOutOfMemory || was_robbed(attempt)) return;
  const MiB beyond(std::max(grant.memory.value * 3 / 2, outcome.device_memory.value * 5 / 4));
  const bool whole = grant.memory >= device.memory;
  profiles_[kind].raise_device(
      device.type, whole ? device.memory + MiB(1) : std::min(beyond, device.memory), count);
}

// Whether it ran out of device memory, and another device, more of this one or more devices could
// be enough. Without others on it the same could.
bool Ledger::deserves_more_memory(const Job& job, const ActiveAttempt& attempt,
                                  const Outcome& outcome) const {
  if (outcome.ending != Ending::kDeviceOutOfMemory || job.lease ||
      attempt.allocation.devices.empty())
    return false;
  if (!job.restarting && oom_retries_of(job, attempt.id.task.index) >= kMostOomRetries)
    return false;
  if (was_robbed(attempt)) return true;
  const DeviceGrant& grant = attempt.allocation.devices.front();
  const std::vector<Request> variants = variants_of(request_of(job, attempt.id.task.index));
  const auto wanted = [&](const std::string& type) {
    return std::any_of(variants.begin(), variants.end(),
                       [&](const Request& one) { return is_of_type(type, one.devices.type); });
  };
  for (const Node& node : nodes_) {
    for (const Device& device : node.devices) {
      if (device.healthy && device.memory > grant.memory && wanted(device.type)) return true;
    }
  }
  return std::any_of(variants.begin(), variants.end(), [&](const Request& one) {
    return one.devices.count > attempt.allocation.devices.size() &&
           std::any_of(nodes_.begin(), nodes_.end(),
                       [&](const Node& node) { return could_ever_fit(node, one); });
  });
}

}  // namespace tutti
