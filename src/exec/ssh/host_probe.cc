#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "exec/ssh/host.h"
#include "telemetry/nvidia_smi_text.h"

// The part of Host that measures.

namespace tutti {
namespace {

constexpr Duration kProbePause = seconds(5);
constexpr Duration kClosePause = seconds(1);       // while something is run to be measured
constexpr Duration kGpuSearchPause = seconds(60);  // where there were none
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
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::uint32_t one = 0;
    const char* const end = list.data() + comma;
    if (std::from_chars(list.data(), end, one).ptr == end && comma > 0 && one == number)
      return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
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
  if (!connected()) return;
  forget_now();
  asked_gpus_ = node_.remote.gpus != "none" && smi_at_ <= now_;
  gpu_text_.clear();
  process_text_.clear();
  link_.call("tutti_probe", {asked_gpus_ ? "1" : "0"});
}

void Host::take(const AgentLoad& load) {
  load_ = load;
}

void Host::take(const AgentGpuLine& line) {
  switch (line.kind) {
    case AgentGpuLine::Kind::kGpu:
      gpu_text_ += line.text + "\n";
      return;
    case AgentGpuLine::Kind::kProcess:
      process_text_.emplace_back(line.session, line.text);
      return;
    case AgentGpuLine::Kind::kNone:
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

// False: what nvidia-smi wrote cannot be read; what was known stays.
bool Host::read_devices(std::vector<Device>& devices, std::vector<MeasuredGpu>& gpus) {
  const auto found = parse_nvidia_smi_gpus(gpu_text_);
  if (!found) return false;
  std::map<std::string, MiB> ours;
  std::map<Run*, std::map<std::string, MiB>> by_run;
  for (const auto& [session, text] : process_text_) {
    const auto processes = parse_nvidia_smi_processes(text + "\n");
    if (!processes || processes->empty()) continue;
    const auto run = std::find_if(runs_.begin(), runs_.end(), [session = session](const auto& one) {
      return one.second.phase == Phase::kRunning && one.second.pid == session;
    });
    if (run == runs_.end()) continue;
    const MiB memory = processes->front().process.memory;
    ours[processes->front().gpu_uuid] += memory;
    by_run[&run->second][processes->front().gpu_uuid] += memory;
  }
  for (auto& [run, memory] : by_run) {
    const auto most =
        std::max_element(memory.begin(), memory.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    ++run->use.samples;
    run->use.peak = std::max(run->use.peak, most->second);
    for (const SmiGpu& gpu : *found) {
      if (gpu.reading.uuid == most->first) run->use.busy += gpu.reading.utilization.value;
    }
  }
  for (std::uint32_t i = 0; i < found->size(); ++i) {
    if (!is_wanted(node_.remote.gpus, i)) continue;
    const GpuReading& reading = (*found)[i].reading;
    Device device;
    device.id = DeviceId(static_cast<std::uint32_t>(devices.size()));
    device.type = reading.type;
    device.uuid = reading.uuid;
    device.name = reading.name;
    device.memory = reading.memory;
    device.healthy = reading.trouble.empty();
    device.trouble = reading.trouble;
    const MiB own = ours[reading.uuid];
    device.foreign = MiB(in_steps(reading.used.value - own.value, kDeviceStep));
    gpus.push_back({device.id, reading.memory, reading.used, reading.utilization});
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
