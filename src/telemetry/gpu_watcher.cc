#include "telemetry/gpu_watcher.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tutti {
namespace {

constexpr Duration kPause = milliseconds(100);
constexpr Duration kFirstPause = milliseconds(25);  // while something has just started
constexpr Duration kFirstTime = milliseconds(500);
constexpr Duration kSlowPause = seconds(1);   // also while somebody waits and nobody has a device
constexpr Duration kAfterwards = seconds(1);  // what stays on a device is then seen as foreign
constexpr Duration kProveFree = seconds(10);
constexpr Duration kPreallocationTime = seconds(10);
// JAX takes three quarters of a device by default, TensorFlow all of it.
constexpr std::int64_t kPreallocationPercent = 70;
// Less than this is noise: a driver's own context, rounding.
constexpr MiB kTolerance{64};
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

GpuWatcher::GpuWatcher(Executor& behind, Clock& clock, FoundGpus found, Options options)
    : behind_(behind),
      clock_(clock),
      options_(std::move(options)),
      notes_(std::move(found.notes)),
      sources_(std::move(found.sources)) {
  for (const auto& source : sources_) {
    const std::string name = source->name();
    source_names_ += (source_names_.empty() ? "" : ", ") + name;
    slow_ = slow_ || name.ends_with("-smi");
  }
}

GpuWatcher::~GpuWatcher() {
  stop();
}

void GpuWatcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// ---- orders
// --------------------------------------------------------------------------------------

Result<void> GpuWatcher::attach(const Known& known, ReportSink& sink) {
  const Reading reading = read();
  std::vector<Effect> orders;
  const std::lock_guard in_order(order_mutex_);
  {
    const std::lock_guard lock(mutex_);
    sink_ = &sink;
    // Those behind are about to tell what was ordered.
    for (auto& [attempt, start] : std::exchange(doubtful_, {})) orders.emplace_back(start);
    const bool held =
        std::any_of(known.attempts.begin(), known.attempts.end(),
                    [](const KnownAttempt& one) { return !one.allocation.devices.empty(); });
    if (devices_.empty() && held) {
      for (const Node& node : known.nodes)
        if (node.id == options_.node) devices_ = node.devices;
    }
    apply_devices_locked(reading);
    for (const KnownAttempt& one : known.attempts) {
      if (one.allocation.devices.empty() || watched_.contains(one.id)) continue;
      Watched& watched = watched_[one.id];
      watched.grants = one.allocation.devices;
      watched.lease = one.lease;
      watched.pid = one.pid;
      watched.pid_birth = one.pid_birth;
      watched.started_at = one.started_at;
    }
  }
  if (!orders.empty()) behind_.order(std::move(orders));
  if (const Result<void> attached = behind_.attach(known, *this); !attached) return attached;
  if (!sources_.empty() && !thread_.joinable()) thread_ = std::thread([this] { watch(); });
  return {};
}

void GpuWatcher::order(std::vector<Effect> effects) {
  std::vector<Effect> passed;
  std::vector<Report> reports;
  bool wake = false;
  const std::lock_guard in_order(order_mutex_);
  {
    const std::lock_guard lock(mutex_);
    for (Effect& effect : effects) {
      if (auto* start = std::get_if<StartAttempt>(&effect);
          start != nullptr && !start->allocation.devices.empty()) {
        wake = wake || idle_;
        watch_locked(*start);
        if (is_doubtful_locked(*start)) {
          wake = urgent_ = true;
          doubtful_.insert_or_assign(start->attempt, std::move(*start));
          continue;
        }
      } else if (const auto* stop = std::get_if<StopAttempt>(&effect)) {
        // Who waits for a lease has to hear of it too.
        withdraw_locked(stop->attempt, stop->cause, reports);
      }
      passed.push_back(std::move(effect));
    }
  }
  if (wake) wake_.notify_all();
  if (!passed.empty()) behind_.order(std::move(passed));
  if (!reports.empty()) sink_->report(std::move(reports));
}

void GpuWatcher::watch_locked(const StartAttempt& start) {
  Watched& watched = watched_[start.attempt];
  watched.grants = start.allocation.devices;
  watched.lease = start.context->lease;
  if (!watched.lease) return;
  watched.pid = start.context->holder_pid;
  watched.pid_birth = start.context->holder_birth;
  watched.started_at = clock_.now();
}

// Whether what the grant was decided on may not be so any more.
bool GpuWatcher::is_doubtful_locked(const StartAttempt& start) const {
  if (sources_.empty()) return false;
  const Duration age = clock_.now() - read_at_;
  return age > (slow_ ? kSlowPause : kPause) * 2 || is_worse_locked(start);
}

// Whether its devices are sick, or others have more of them than the controller knew.
bool GpuWatcher::is_worse_locked(const StartAttempt& start) const {
  return std::any_of(start.devices.begin(), start.devices.end(), [this](const Device& known) {
    const Device& device = devices_.at(known.id.value);
    return !device.healthy || device.foreign > known.foreign;
  });
}

// One that was not passed on yet never will be.
void GpuWatcher::withdraw_locked(AttemptId attempt, Ending ending, std::vector<Report>& reports) {
  if (doubtful_.erase(attempt) == 0) return;
  watched_.erase(attempt);
  reports.emplace_back(AttemptEnded{attempt, {}, clock_.now(), {.ending = ending}, true});
}

void GpuWatcher::await_devices(bool awaited) {
  {
    const std::lock_guard lock(mutex_);
    awaited_ = awaited;
    urgent_ = urgent_ || (awaited && idle_);
  }
  if (awaited) wake_.notify_all();
}

void GpuWatcher::journalled(std::span<const AttemptId> ended) {
  behind_.journalled(ended);
}

// ---- reports of the executors behind
// -------------------------------------------------------------

void GpuWatcher::report(std::vector<Report> reports) {
  std::vector<Report> passed;
  bool read_first = false;
  {
    const std::lock_guard lock(mutex_);
    for (Report& report : reports) {
      if (auto* changed = std::get_if<NodeChanged>(&report);
          changed != nullptr && changed->node.id == options_.node) {
        node_ = changed->node;
        changed->node.devices = devices_;
      } else if (const auto* started = std::get_if<AttemptStarted>(&report)) {
        begin_locked(*started);
      } else if (auto* ended = std::get_if<AttemptEnded>(&report);
                 ended != nullptr && hold_back_locked(*ended)) {
        urgent_ = true;
        continue;
      }
      passed.push_back(std::move(report));
    }
    read_first = urgent_;
  }
  if (read_first) wake_.notify_all();
  if (!passed.empty()) sink_->report(std::move(passed));
}

// True: it is kept until the driver has been asked. A holder that lives on may have left something
// on its device; the processes of an attempt are gone, but the driver must say so too.
bool GpuWatcher::hold_back_locked(AttemptEnded& ended) {
  const auto it = watched_.find(ended.attempt);
  if (it == watched_.end()) return false;
  Watched& watched = it->second;
  const TimePoint now = clock_.now();
  busy_until_ = now + kAfterwards;
  const bool had = std::any_of(watched.used.begin(), watched.used.end(),
                               [](const auto& one) { return one.second > kTolerance; });
  const bool long_lease = watched.lease && now - watched.started_at > kFirstPause;
  // Who took its memory must be known, too.
  const bool starved = ended.outcome.ending == Ending::kDeviceOutOfMemory;
  if (sources_.empty() || (!had && !long_lease && !starved)) {
    measure_locked(watched, ended.outcome);
    watched_.erase(it);
    return false;
  }
  watched.ended = std::move(ended);
  watched.ended_at = now;
  if (watched.lease) watched.pid = 0;  // what is left there is foreign from now on
  return true;
}

void GpuWatcher::begin_locked(const AttemptStarted& started) {
  const auto it = watched_.find(started.attempt);
  if (it == watched_.end()) return;
  it->second.pid = started.pid;
  it->second.pid_birth = started.pid_birth;
  if (!it->second.started_at) it->second.started_at = clock_.now();
}

void GpuWatcher::measure_locked(const Watched& watched, Outcome& outcome) const {
  outcome.device_measured = watched.samples > 0 || watched.readings >= 3;
  outcome.device_memory = watched.peak;
  if (watched.samples > 0) outcome.device_share = MilliGpu(watched.share_sum / watched.samples);
  outcome.preallocates = watched.preallocates;
  if (watched.preallocates && outcome.message.empty()) outcome.message = kPreallocates;
}

// ---- readings
// ------------------------------------------------------------------------------------

Duration GpuWatcher::pause_locked() const {
  const TimePoint now = clock_.now();
  if (slow_ || (watched_.empty() && now >= busy_until_)) return kSlowPause;
  for (const auto& [id, watched] : watched_) {
    if (watched.ended || (watched.started_at && now - watched.started_at < kFirstTime))
      return kFirstPause;
  }
  return kPause;
}

void GpuWatcher::watch() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const auto busy = [this] {
        return awaited_ || !watched_.empty() || clock_.now() < busy_until_ || !trouble_.empty();
      };
      if (!busy()) {
        idle_ = true;
        wake_.wait(lock, [&] { return stop_ || urgent_ || busy(); });
        idle_ = false;
      }
      if (!urgent_ && !stop_) {
        wake_.wait_for(lock, std::chrono::microseconds(pause_locked().value),
                       [this] { return stop_ || urgent_; });
      }
      if (stop_) return;
      urgent_ = false;
    }
    read_and_report();
  }
}

void GpuWatcher::read_and_report() {
  const TimePoint at = clock_.now();
  const Reading reading = read();
  std::vector<Report> reports;
  std::vector<Effect> orders;
  const std::lock_guard in_order(order_mutex_);
  {
    const std::lock_guard lock(mutex_);
    read_at_ = at;
    reports = apply_locked(reading);
    orders.swap(warnings_);
    settle_doubtful_locked(orders, reports);
  }
  if (!orders.empty()) behind_.order(std::move(orders));
  if (!reports.empty()) sink_->report(std::move(reports));
}

// The controller hears of the node before of those that are taken back, and decides again.
void GpuWatcher::settle_doubtful_locked(std::vector<Effect>& orders, std::vector<Report>& reports) {
  std::vector<AttemptId> worse;
  for (auto& [attempt, start] : doubtful_) {
    if (is_worse_locked(start)) worse.push_back(attempt);
  }
  if (!worse.empty()) reports.emplace_back(present_node_locked());
  for (const AttemptId& attempt : worse) withdraw_locked(attempt, Ending::kRecalled, reports);
  for (auto& [attempt, start] : doubtful_) orders.emplace_back(std::move(start));
  doubtful_.clear();
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

GpuReport GpuWatcher::read_now() {
  if (!sources_.empty()) read_and_report();
  GpuReport report;
  {
    const std::lock_guard lock(mutex_);
    report = {source_names_, trouble_, notes_, newest_};
  }
  const std::lock_guard lock(source_mutex_);
  for (DeviceReading& device : report.devices) {
    for (ForeignProcess& process : device.foreign) {
      const ProcessDescription& who = tree_.describe(process.pid);
      process.user = who.user;
      process.command = who.command;
    }
  }
  return report;
}

}  // namespace tutti
