#include "telemetry/rocm_source.h"

#include <algorithm>
#include <array>

#include "telemetry/driver_text.h"
#include "telemetry/gpu_type.h"
#include "telemetry/process_shares.h"
#include "telemetry/rocm_smi_text.h"

namespace tutti {
namespace {

constexpr std::uint32_t kMostRocmProcesses = 1 << 16;

std::string bus_of(std::uint64_t id) {
  const auto low = static_cast<std::uint32_t>(id);
  return pci_bus_text(static_cast<std::uint32_t>(id >> 32), (low >> 8) & 0xff, (low >> 3) & 0x1f,
                      low & 7);
}

// The name without a version belongs to the package for developers.
Result<std::unique_ptr<RocmLibrary>> open_usual() {
  for (const char* name : {"librocm_smi64.so", "librocm_smi64.so.7", "librocm_smi64.so.6",
                           "librocm_smi64.so.5", "librocm_smi64.so.1"}) {
    auto library = RocmLibrary::open(name);
    if (library || library.error().code != ErrorCode::kNotFound) return library;
  }
  return not_found("cannot open librocm_smi64.so: it is not installed");
}

}  // namespace

Result<std::unique_ptr<RocmSource>> RocmSource::open(const std::string& path,
                                                     MonotonicClock clock) {
  auto library = path.empty() ? open_usual() : RocmLibrary::open(path);
  if (!library) return library.error();
  std::unique_ptr<RocmSource> source(new RocmSource(std::move(*library), std::move(clock)));
  source->start();
  return source;
}

RocmSource::~RocmSource() {
  if (initialised_ && library_->shutdown != nullptr) library_->shutdown();
}

void RocmSource::start() {
  if (initialised_ && library_->shutdown != nullptr) library_->shutdown();
  started_us_ = clock_();
  cards_.clear();
  const int code = library_->init(0);
  initialised_ = code == rocm::kSuccess;
  if (!initialised_) static_cast<void>(failure("initialise", code));
}

Error RocmSource::failure(const char* what, int code) {
  failing_ = true;
  last_error_ = {ErrorCode::kUnavailable,
                 std::string("ROCm SMI cannot ") + what + " (" + library_->text_of(code) +
                     "): nothing can be said about AMD GPUs now; is the amdgpu driver loaded, and "
                     "may this user open /dev/kfd?"};
  return last_error_;
}

Result<std::vector<GpuReading>> RocmSource::read() {
  if ((failing_ || !initialised_) && clock_() - started_us_ >= kRestartEvery) start();
  if (!initialised_) return last_error_;
  if (const int code = refresh(); code != rocm::kSuccess) return failure("list the GPUs", code);
  failing_ = false;
  std::vector<GpuReading> readings;
  readings.reserve(cards_.size());
  for (const Card& card : cards_) readings.push_back(read_card(card));
  add_processes(readings);
  return readings;
}

int RocmSource::refresh() {
  std::uint32_t count = 0;
  if (const int code = library_->count(&count); code != rocm::kSuccess) return code;
  count = std::min(count, kMostDevices);
  if (count == cards_.size()) return rocm::kSuccess;
  cards_.clear();
  for (std::uint32_t index = 0; index < count; ++index) {
    cards_.push_back({index, identify(index)});
  }
  std::stable_sort(cards_.begin(), cards_.end(), [](const Card& a, const Card& b) {
    return a.identity.pci_bus < b.identity.pci_bus;
  });
  return rocm::kSuccess;
}

GpuReading RocmSource::identify(std::uint32_t index) const {
  GpuReading identity;
  identity.amd = true;
  // One byte more than the library knows of: the text ends whatever it writes.
  std::array<char, 257> text{};
  const std::size_t room = text.size() - 1;
  if (library_->name != nullptr && library_->name(index, text.data(), room) == rocm::kSuccess) {
    identity.name = printable_text(text.data());
  }
  // Where the library's tables do not know the GPU, its name is a number.
  text.fill('\0');
  if ((identity.name.empty() || identity.name.starts_with("0x")) && library_->brand != nullptr &&
      library_->brand(index, text.data(), static_cast<std::uint32_t>(room)) == rocm::kSuccess) {
    identity.name = printable_text(text.data());
  }
  if (identity.name.empty() || identity.name.starts_with("0x")) identity.name = "AMD GPU";
  std::uint64_t number = 0;
  const bool placed = library_->pci != nullptr && library_->pci(index, &number) == rocm::kSuccess;
  identity.pci_bus = placed ? bus_of(number) : pci_bus_text(~0U, index, 0, 0);
  number = 0;
  if (library_->unique_id == nullptr || library_->unique_id(index, &number) != rocm::kSuccess) {
    number = 0;
  }
  identity.uuid = rocm_uuid(number, identity.pci_bus);
  std::uint64_t bytes = 0;
  if (library_->memory_total(index, rocm::kVram, &bytes) == rocm::kSuccess) {
    identity.memory = mib_from_bytes(bytes);
  }
  identity.type = type_of_gpu(identity.name, identity.memory);
  return identity;
}

GpuReading RocmSource::read_card(const Card& card) const {
  GpuReading reading = card.identity;
  std::uint64_t bytes = 0;
  const int code = library_->memory_used(card.index, rocm::kVram, &bytes);
  if (code != rocm::kSuccess) {
    reading.trouble = "does not answer (ROCm SMI: " + library_->text_of(code) + ")";
    return reading;
  }
  reading.used = std::min(mib_from_bytes(bytes), reading.memory);
  std::uint32_t percent = 0;
  if (library_->busy_percent != nullptr &&
      library_->busy_percent(card.index, &percent) == rocm::kSuccess) {
    reading.utilization = share_from_percent(percent);
  }
  rocm::ErrorCounts errors;
  if (library_->error_counts != nullptr &&
      library_->error_counts(card.index, rocm::kMemoryBlock, &errors) == rocm::kSuccess &&
      errors.uncorrected > 0) {
    reading.trouble = std::to_string(errors.uncorrected) +
                      " uncorrectable memory error(s) (ECC): reset the GPU, or replace it";
  }
  return reading;
}

void RocmSource::add_processes(std::vector<GpuReading>& readings) {
  if (library_->processes == nullptr || library_->gpus_of_process == nullptr) return;
  std::uint32_t count = 0;
  if (library_->processes(nullptr, &count) != rocm::kSuccess || count == 0) return;
  // Some may start between the calls.
  processes_.assign(std::min(count, kMostRocmProcesses) + 16, {});
  count = static_cast<std::uint32_t>(processes_.size());
  const int code = library_->processes(processes_.data(), &count);
  if (code != rocm::kSuccess && code != rocm::kInsufficientSize) return;
  processes_.resize(std::min<std::size_t>(count, processes_.size()));
  for (const rocm::Process& process : processes_) add_process(process.pid, readings);
  for (GpuReading& reading : readings) {
    merge_processes(reading.processes);
    fill_in_memory(reading.processes, reading.used);
    share_utilization(reading.processes, reading.utilization);
  }
}

// The list of all processes has no memory in it: it is asked for on each of the process's GPUs.
void RocmSource::add_process(std::uint32_t pid, std::vector<GpuReading>& readings) {
  std::array<std::uint32_t, kMostDevices> indices{};
  auto used = static_cast<std::uint32_t>(indices.size());
  if (library_->gpus_of_process(pid, indices.data(), &used) != rocm::kSuccess) return;
  for (std::size_t i = 0; i < std::min<std::size_t>(used, indices.size()); ++i) {
    rocm::Process process;
    const bool told = library_->process_on_gpu != nullptr &&
                      library_->process_on_gpu(pid, indices[i], &process) == rocm::kSuccess;
    for (std::size_t card = 0; card < cards_.size(); ++card) {
      if (cards_[card].index != indices[i]) continue;
      readings[card].processes.push_back(
          {pid, told ? mib_from_bytes(process.vram) : kMemoryNotTold, {}});
    }
  }
}

}  // namespace tutti
