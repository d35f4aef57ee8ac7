// What GpuWatcher makes of what the drivers tell: the devices of the node, whose the processes on
// them are, who uses more than it was granted, and what is free again.
#include <algorithm>
#include <utility>

#include "telemetry/gpu_watcher.h"

namespace tutti {
namespace {

constexpr Duration kProveFree = seconds(10);
constexpr Duration kPreallocationTime = seconds(10);
// JAX takes three quarters of a device by default, TensorFlow all of it.
constexpr std::int64_t kPreallocationPercent = 70;
constexpr MiB kForeignStep{256};

constexpr char kPreallocates[] =
    "took nearly all memory of its GPU at its start, so it cannot be shared; if that is JAX, set "
    "XLA_PYTHON_CLIENT_PREALLOCATE=false; if it is TensorFlow, set "
    "TF_FORCE_GPU_ALLOW_GROWTH=true";

bool differs(MiB before, MiB after) {
  if ((before.value == 0) != (after.value == 0)) return true;
  return std::max(before, after) - std::min(before, after) >= kForeignStep;
}

}  // namespace

Device device_from(const GpuReading& gpu, DeviceId id, const std::string& emulation) {
  Device device;
  device.id = id;
  device.type = gpu.type;
  device.uuid = gpu.uuid;
  device.memory = gpu.memory;
  device.healthy = gpu.trouble.empty();
  device.trouble = gpu.trouble;
  device.name = gpu.name;
  device.amd = gpu.amd;
  if (gpu.emulated) device.emulation = emulation;
  return device;
}

std::vector<ProcessRoot> GpuWatcher::roots_locked() const {
  std::vector<ProcessRoot> roots;
  for (const auto& [id, watched] : watched_) {
    if (watched.pid == 0) continue;
    ProcessRoot root{.id = static_cast<std::uint64_t>(watched.pid),
                     .pid = watched.pid,
                     .start_ticks = static_cast<std::uint64_t>(watched.pid_birth)};
    if (!watched.lease) {
      root.environment = {"TUTTI_JOB_ID=" + std::to_string(id.task.job.value),
                          "TUTTI_TASK_INDEX=" + std::to_string(id.task.index),
                          "TUTTI_ATTEMPT=" + std::to_string(id.number)};
    }
    roots.push_back(std::move(root));
  }
  return roots;
}

GpuWatcher::Reading GpuWatcher::read() {
  Reading reading;
  std::vector<ProcessRoot> roots;
  {
    const std::lock_guard lock(mutex_);
    roots = roots_locked();
  }
  const std::lock_guard lock(source_mutex_);
  tree_.set_roots(std::move(roots));
  for (const auto& source : sources_) {
    auto gpus = source->read();
    if (!gpus) {
      reading.trouble = gpus.error().message;
      continue;
    }
    for (GpuReading& gpu : *gpus) {
      std::vector<Seen>& seen = reading.processes.emplace_back();
      for (const GpuProcess& process : gpu.processes) {
        const auto owner = tree_.owner(process.pid);
        seen.push_back({process, owner ? static_cast<std::int64_t>(*owner) : 0});
      }
      reading.gpus.push_back(std::move(gpu));
    }
  }
  return reading;
}

DeviceId GpuWatcher::device_of_locked(const std::string& uuid) const {
  const auto it = std::find_if(devices_.begin(), devices_.end(),
                               [&](const Device& device) { return device.uuid == uuid; });
  return it->id;
}

void GpuWatcher::apply_devices_locked(const Reading& reading) {
  if (trouble_ != reading.trouble) changed_ = true;
  trouble_ = reading.trouble;
  std::set<std::string> present;
  for (const GpuReading& gpu : reading.gpus) {
    present.insert(gpu.uuid);
    const auto it = std::find_if(devices_.begin(), devices_.end(),
                                 [&](const Device& device) { return device.uuid == gpu.uuid; });
    const DeviceId id =
        it != devices_.end() ? it->id : DeviceId(static_cast<std::uint32_t>(devices_.size()));
    Device fresh = device_from(gpu, id, options_.emulation);
    if (it == devices_.end()) {
      devices_.push_back(std::move(fresh));
      changed_ = true;
      continue;
    }
    fresh.foreign = it->foreign;
    fresh.reserved_memory = it->reserved_memory;
    fresh.reserved_share = it->reserved_share;
    fresh.holders = it->holders;
    if (fresh == *it) continue;
    *it = std::move(fresh);
    changed_ = true;
  }
  for (Device& device : devices_) {
    if (present.contains(device.uuid)) continue;
    const std::string why = reading.trouble.empty()
                                ? "vanished: its driver does not list it any more"
                                : "its driver does not answer: " + reading.trouble;
    if (!device.healthy && device.trouble == why) continue;
    device.healthy = false;
    device.trouble = why;
    changed_ = true;
  }
}

// Whose a process on a device is. It may hold several leases, each on devices of its own.
std::vector<AttemptId> GpuWatcher::owners_locked(std::int64_t root, DeviceId device) const {
  std::vector<AttemptId> owners;
  if (root == 0) return owners;
  for (const auto& [id, watched] : watched_) {
    if (watched.pid == root &&
        std::any_of(watched.grants.begin(), watched.grants.end(),
                    [&](const DeviceGrant& grant) { return grant.id == device; }))
      owners.push_back(id);
  }
  return owners;
}

void GpuWatcher::apply_processes_locked(const Reading& reading) {
  newest_.assign(devices_.size(), {});
  for (auto& [id, watched] : watched_) {
    for (auto& [device, memory] : watched.used) memory = MiB();
    if (watched.pid != 0) ++watched.readings;
  }
  Shares shares;
  for (std::size_t i = 0; i < reading.gpus.size(); ++i) {
    const DeviceId device = device_of_locked(reading.gpus[i].uuid);
    DeviceReading& newest = newest_[device.value];
    newest.uuid = reading.gpus[i].uuid;
    newest.used = reading.gpus[i].used;
    newest.utilization = reading.gpus[i].utilization;
    MiB foreign;
    for (const Seen& seen : reading.processes[i]) {
      const std::vector<AttemptId> owners = owners_locked(seen.root, device);
      const auto parts = static_cast<std::int64_t>(owners.size());
      for (const AttemptId& owner : owners) {
        const MiB memory(seen.process.memory.value / parts);
        watched_.at(owner).used[device] += memory;
        newest.used_by[owner] += memory;
        shares[owner][device] += MilliGpu(seen.process.utilization.value / parts);
      }
      if (!owners.empty()) continue;
      foreign += seen.process.memory;
      newest.foreign.push_back({seen.process.pid, {}, {}, seen.process.memory});
    }
    if (!differs(devices_[device.value].foreign, foreign)) continue;
    devices_[device.value].foreign = foreign;
    changed_ = true;
  }
  count_samples_locked(shares);
}

// Utilisation counts from when it first had memory: what it does before is no use of a device.
void GpuWatcher::count_samples_locked(const Shares& shares) {
  for (auto& [id, watched] : watched_) {
    MiB most;
    for (const auto& [device, memory] : watched.used) most = std::max(most, memory);
    if (watched.ended || (most.value == 0 && watched.samples == 0)) continue;
    watched.peak = std::max(watched.peak, most);
    ++watched.samples;
    MilliGpu busiest;
    if (const auto it = shares.find(id); it != shares.end()) {
      for (const auto& [device, share] : it->second) busiest = std::max(busiest, share);
    }
    watched.share_sum += std::min<std::int64_t>(busiest.value, 1000);
  }
}

// Says that an attempt uses more than it was granted, or takes all there is.
void GpuWatcher::judge_locked(AttemptId id, Watched& watched, std::vector<Report>& reports) {
  for (const DeviceGrant& grant : watched.grants) {
    const auto it = watched.used.find(grant.id);
    if (it == watched.used.end()) continue;
    const MiB used = it->second;
    MiB& reported = watched.reported[grant.id];
    const MiB told = std::max(grant.memory, reported);
    if (used > told + kTolerance && used.value > told.value + told.value / 50) {
      reported = used;
      reports.emplace_back(AttemptMeasured{id, grant.id, used});
    }
    const Device& device = devices_.at(grant.id.value);
    if (!watched.preallocates && watched.samples <= 5 &&
        clock_.now() - watched.started_at < kPreallocationTime &&
        used.value * 100 >= device.memory.value * kPreallocationPercent) {
      watched.preallocates = true;
      warnings_.emplace_back(WarnAttempt{id, options_.node, kPreallocates});
    }
  }
}

std::vector<Report> GpuWatcher::apply_locked(const Reading& reading) {
  std::vector<Report> reports;
  apply_devices_locked(reading);
  apply_processes_locked(reading);
  for (auto& [id, watched] : watched_) judge_locked(id, watched, reports);
  if (std::exchange(changed_, false) && node_.id == options_.node)
    reports.emplace_back(present_node_locked());
  let_pass_locked(reports);
  return reports;
}

NodeChanged GpuWatcher::present_node_locked() const {
  NodeChanged changed{node_};
  changed.node.devices = devices_;
  return changed;
}

// Ends that were held back until the driver says that nothing is left on the device.
void GpuWatcher::let_pass_locked(std::vector<Report>& reports) {
  const TimePoint now = clock_.now();
  for (auto it = watched_.begin(); it != watched_.end();) {
    Watched& watched = it->second;
    const bool left = std::any_of(watched.used.begin(), watched.used.end(),
                                  [](const auto& one) { return one.second.value > 0; });
    if (!watched.ended || (left && now - watched.ended_at < kProveFree)) {
      ++it;
      continue;
    }
    measure_locked(watched, watched.ended->outcome);
    reports.emplace_back(std::move(*watched.ended));
    it = watched_.erase(it);
  }
}

void GpuWatcher::measure_locked(const Watched& watched, Outcome& outcome) const {
  outcome.device_measured = watched.samples > 0 || watched.readings >= 3;
  outcome.device_memory = watched.peak;
  if (watched.samples > 0) outcome.device_share = MilliGpu(watched.share_sum / watched.samples);
  outcome.preallocates = watched.preallocates;
  if (watched.preallocates && outcome.message.empty()) outcome.message = kPreallocates;
}

}  // namespace tutti
