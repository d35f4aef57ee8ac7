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

}  // namespace

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
