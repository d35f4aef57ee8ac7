#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/spec/text.h"
#include "exec/ssh/host.h"
#include "telemetry/gpu_watcher.h"
#include "telemetry/nvidia_smi_text.h"
#include "telemetry/rocm_smi_text.h"

// The part of Host that measures.

namespace tutti {
namespace {

constexpr Duration kProbePause = seconds(5);
constexpr Duration kClosePause = seconds(1);       // while something is run to be measured
constexpr Duration kGpuSearchPause = seconds(60);  // where there were none
// What the agent says of a vendor's tool that has not answered the question before yet.
constexpr int kStillAsked = 124;
// As much more than its cores a machine may be asked for: systems do well with a little too much.
constexpr MilliCpu kTolerated{2000};
// Steps in which others' use is told, so that a journal is not filled with noise.
constexpr std::int64_t kCpuStep = 1000;
constexpr std::int64_t kMemoryStep = 1024;
constexpr std::int64_t kDeviceStep = 256;

std::int64_t in_steps(std::int64_t value, std::int64_t step) {
  return std::max<std::int64_t>(value, 0) / step * step;
}

// Whether `number` is among the GPUs to use: "" all, "none", "0,2".
bool is_wanted(std::string_view list, std::uint32_t number) {
  if (list.empty()) return true;
  const auto numbers = split_commas(list);
  return std::any_of(numbers.begin(), numbers.end(),
                     [&](std::string_view one) { return parse_digits(one, number) == number; });
}

}  // namespace

Duration Host::probe_pause() const {
  const bool closely = std::any_of(runs_.begin(), runs_.end(), [](const auto& one) {
    return one.second.phase == Phase::kRunning && one.second.order.allocation.measuring;
  });
  return closely ? kClosePause : kProbePause;
}

void Host::measure() {
  probe_at_ = now_ + probe_pause();
  if (link_.state() == AgentLink::State::kClosed) open_at_ = now_;
  if (!connected()) return;
  forget_now();
  asked_gpus_ = node_.remote.gpus != "none" && smi_at_ <= now_;
  gpu_text_.clear();
  card_text_.clear();
  process_text_.clear();
  sessions_.clear();
  link_.call("tutti_probe", {asked_gpus_ ? "1" : "0"});
}

void Host::take(const AgentLoad& load) {
  load_ = load;
}

void Host::take(const AgentGpuLine& line) {
  using Kind = AgentGpuLine::Kind;
  switch (line.kind) {
    case Kind::kGpu:
      gpu_text_ += line.text + "\n";
      return;
    case Kind::kCard:  // a piece of a text that may be one long line
      card_text_ += line.text;
      return;
    case Kind::kProcess:
    case Kind::kCardProcess:
      process_text_ += line.text + "\n";
      if (line.session > 0) sessions_[std::strtoll(line.text.c_str(), nullptr, 10)] = line.session;
      return;
    case Kind::kNone:
      if (line.status == kStillAsked) asked_gpus_ = false;
      return;
  }
}

void Host::take(const AgentProbeEnd&) {
  answer_by_ = TimePoint();
  update_node();
  if (up_) return;
  up_ = true;
  tell_state();
}

Result<std::vector<GpuReading>> Host::gpu_readings() const {
  std::vector<GpuReading> readings;
  if (!card_text_.empty()) {
    auto cards = parse_rocm_smi_cards(card_text_);
    if (!cards) return cards.error();
    const auto processes = parse_rocm_smi_processes(process_text_);
    if (!processes) return processes.error();
    add_processes(*cards, *processes);
    for (RocmSmiCard& card : *cards) readings.push_back(std::move(card.reading));
    return readings;
  }
  auto gpus = parse_nvidia_smi_gpus(gpu_text_);
  if (!gpus) return gpus.error();
  const auto processes = parse_nvidia_smi_processes(process_text_);
  if (!processes) return processes.error();
  for (SmiGpu& gpu : *gpus) {
    for (const SmiProcess& one : *processes) {
      if (one.gpu_uuid == gpu.reading.uuid) gpu.reading.processes.push_back(one.process);
    }
    readings.push_back(std::move(gpu.reading));
  }
  return readings;
}

Run* Host::run_of(std::int64_t pid) {
  const auto session = sessions_.find(pid);
  if (session == sessions_.end()) return nullptr;
  const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const auto& one) {
    return one.second.phase == Phase::kRunning && one.second.pid == session->second;
  });
  return found == runs_.end() ? nullptr : &found->second;
}

// Adds what each run has on the GPUs to what was seen of it. Returns the memory of all, by GPU.
std::vector<MiB> Host::note_use(const std::vector<GpuReading>& readings) {
  std::vector<MiB> ours(readings.size());
  struct Most {
    MiB memory;
    MilliGpu busy;
  };
  std::map<Run*, Most> by_run;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    std::map<Run*, MiB> here;
    for (const GpuProcess& process : readings[i].processes) {
      Run* const run = process.memory.value >= 0 ? run_of(process.pid) : nullptr;
      if (run != nullptr) here[run] += process.memory;
    }
    for (const auto& [run, memory] : here) {
      ours[i] += memory;
      Most& most = by_run[run];
      if (memory >= most.memory) most = {memory, readings[i].utilization};
    }
  }
  for (const auto& [run, most] : by_run) {
    ++run->use.samples;
    run->use.peak = std::max(run->use.peak, most.memory);
    run->use.busy += most.busy.value;
  }
  return ours;
}

// False: what the vendor's tool wrote cannot be read; what was known stays.
bool Host::read_devices(std::vector<Device>& devices, std::vector<MeasuredGpu>& gpus) {
  const auto found = gpu_readings();
  if (!found) return false;
  const std::vector<MiB> ours = note_use(*found);
  for (std::uint32_t i = 0; i < found->size(); ++i) {
    if (!is_wanted(node_.remote.gpus, i)) continue;
    const GpuReading& reading = (*found)[i];
    const DeviceId id(static_cast<std::uint32_t>(devices.size()));
    Device device = device_from(reading, id, "");
    device.foreign = MiB(in_steps(reading.used.value - ours[i].value, kDeviceStep));
    gpus.push_back({i, reading.memory, reading.used, reading.utilization, reading.uuid});
    devices.push_back(std::move(device));
  }
  return true;
}

void Host::update_node() {
  NodeMeasurement measured{.at = now_,
                           .cpus = load_.cpus,
                           .busy = load_.busy,
                           .memory = load_.memory,
                           .available = load_.available};
  MilliCpu granted;
  MiB granted_memory;
  for (const auto& [id, run] : runs_) {
    if (run.phase != Phase::kRunning) continue;
    granted += run.order.allocation.cpus;
    granted_memory += run.order.allocation.memory;
  }
  node_.cpus = node_.free_cpus = load_.cpus;
  node_.memory = node_.free_memory = load_.memory;
  const MilliCpu others = load_.busy - granted - kTolerated;
  node_.foreign_cpus = MilliCpu(in_steps(others.value, kCpuStep));
  const MiB used = load_.memory - load_.available - granted_memory;
  // A machine's own system needs some memory and is not counted as somebody's.
  const std::int64_t foreign = in_steps(used.value, kMemoryStep);
  if (std::llabs(foreign - node_.foreign_memory.value) > kMemoryStep || foreign == 0)
    node_.foreign_memory = MiB(foreign);
  // They are not asked for every time.
  if (measured_) measured.gpus = measured_->gpus;
  if (asked_gpus_) {
    std::vector<Device> devices;
    std::vector<MeasuredGpu> gpus;
    if (read_devices(devices, gpus)) {
      node_.devices = std::move(devices);
      measured.gpus = std::move(gpus);
    }
    smi_at_ = node_.devices.empty() ? now_ + kGpuSearchPause : TimePoint();
  }
  measured_ = std::move(measured);
  reports_.emplace_back(NodeChanged{node_});
}

}  // namespace tutti
