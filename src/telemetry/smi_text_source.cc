#include "telemetry/smi_text_source.h"

#include <map>
#include <optional>

#include "telemetry/driver_text.h"
#include "telemetry/nvidia_smi_text.h"
#include "telemetry/process_shares.h"
#include "telemetry/rocm_smi_text.h"
#include "telemetry/thermal_watch.h"
#include "telemetry/tool_output.h"

namespace tutti {
namespace {

constexpr std::int64_t kLifetime = 2000000;
// nvidia-smi does not tell where a GPU slows down; no GPU is made to be hotter for long.
constexpr int kHotCelsius = 95;
// It prints all that was asked for, and ends with this code for a damaged but harmless store.
constexpr int kCorruptedInforom = 14;

// What the two tools have in common: how often they are run.
class TextSource : public GpuSource {
 public:
  TextSource(std::string program, MonotonicClock clock)
      : program_(std::move(program)), clock_(std::move(clock)) {}

  Result<std::vector<GpuReading>> read() final {
    const std::int64_t now = clock_();
    if (!last_ || now - read_us_ >= kLifetime) {
      last_ = run();
      read_us_ = now;
    }
    return *last_;
  }

 protected:
  virtual Result<std::vector<GpuReading>> run() = 0;
  const std::string& program() const { return program_; }

 private:
  std::string program_;
  MonotonicClock clock_;
  std::optional<Result<std::vector<GpuReading>>> last_;
  std::int64_t read_us_ = 0;
};

// Whole NVIDIA GPUs; nvidia-smi's lists do not tell slices apart.
class NvidiaSmiSource : public TextSource {
 public:
  using TextSource::TextSource;
  const char* name() const override { return "nvidia-smi"; }

 protected:
  Result<std::vector<GpuReading>> run() override {
    const auto output = run_tool(program(), nvidia_smi_gpu_arguments());
    if (!output) return output.error();
    if (output->exit_code != 0 && output->exit_code != kCorruptedInforom) {
      return nvidia_smi_failure(output->exit_code, output->text);
    }
    auto gpus = parse_nvidia_smi_gpus(output->text);
    if (!gpus) return gpus.error();
    const auto listed = run_tool(program(), nvidia_smi_process_arguments());
    if (!listed) return listed.error();
    if (listed->exit_code != 0 && listed->exit_code != kCorruptedInforom) {
      return nvidia_smi_failure(listed->exit_code, listed->text);
    }
    const auto processes = parse_nvidia_smi_processes(listed->text);
    if (!processes) return processes.error();
    std::vector<GpuReading> readings;
    for (SmiGpu& gpu : *gpus) readings.push_back(finish(std::move(gpu), *processes));
    return readings;
  }

 private:
  GpuReading finish(SmiGpu gpu, const std::vector<SmiProcess>& processes) {
    GpuReading& reading = gpu.reading;
    for (const SmiProcess& one : processes) {
      if (one.gpu_uuid == reading.uuid) reading.processes.push_back(one.process);
    }
    merge_processes(reading.processes);
    fill_in_memory(reading.processes, reading.used);
    share_utilization(reading.processes, reading.utilization);
    if (thermal_[reading.uuid].judge(gpu.celsius >= kHotCelsius) && reading.trouble.empty()) {
      reading.trouble = "too hot (" + std::to_string(gpu.celsius) + " °C): check its cooling";
    }
    return std::move(reading);
  }

  std::map<std::string, ThermalWatch> thermal_;
};

class RocmSmiSource : public TextSource {
 public:
  using TextSource::TextSource;
  const char* name() const override { return "rocm-smi"; }

 protected:
  Result<std::vector<GpuReading>> run() override {
    const auto output = run_tool(program(), rocm_smi_card_arguments());
    if (!output) return output.error();
    // The tool ends with 2 when one of the values is missing, with the rest in its text.
    auto cards = parse_rocm_smi_cards(output->text);
    if (!cards) return failure(*output, cards.error());
    const auto listed = run_tool(program(), rocm_smi_process_arguments());
    if (!listed) return listed.error();
    const auto processes = parse_rocm_smi_processes(listed->text);
    if (!processes) return processes.error();
    add_processes(*cards, *processes);
    std::vector<GpuReading> readings;
    for (RocmSmiCard& card : *cards) readings.push_back(std::move(card.reading));
    return readings;
  }

 private:
  static Error failure(const ToolOutput& output, const Error& error) {
    if (output.exit_code == 0) return error;
    const std::string said = printable_text(output.text);
    return {ErrorCode::kUnavailable, "AMD GPUs cannot be read (rocm-smi ended with code " +
                                         std::to_string(output.exit_code) +
                                         (said.empty() ? ")" : ": " + said + ")") +
                                         ": is the amdgpu driver loaded?"};
  }
};

}  // namespace

std::unique_ptr<GpuSource> make_nvidia_smi_source(const std::string& program,
                                                  MonotonicClock clock) {
  return std::make_unique<NvidiaSmiSource>(program.empty() ? "nvidia-smi" : program,
                                           std::move(clock));
}

std::unique_ptr<GpuSource> make_rocm_smi_source(const std::string& program, MonotonicClock clock) {
  return std::make_unique<RocmSmiSource>(program.empty() ? "rocm-smi" : program, std::move(clock));
}

}  // namespace tutti
