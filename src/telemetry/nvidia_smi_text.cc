#include "telemetry/nvidia_smi_text.h"

#include <algorithm>
#include <optional>

#include "core/spec/gpu_type.h"
#include "core/spec/text.h"
#include "telemetry/driver_text.h"
#include "telemetry/process_shares.h"

namespace tutti {
namespace {

constexpr std::size_t kGpuFields = 9;
constexpr std::size_t kProcessFields = 3;
constexpr std::uint64_t kMostMib = std::uint64_t{1} << 30;

std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

// What stands for a value that the GPU or the driver does not have.
bool is_unknown(std::string_view value) {
  return value == "[N/A]" || value == "N/A" || value == "[Not Supported]" ||
         value == "[Insufficient Permissions]" || value == "[Not Found]" || value == "-";
}

// What stands for a value that could not be read because the GPU is in trouble.
std::string trouble_in(std::string_view value) {
  if (value == "[GPU is lost]") return "fell off the bus (nvidia-smi: GPU is lost)";
  if (value == "[GPU requires reset]") return "needs a reset (nvidia-smi: GPU requires reset)";
  if (value == "ERR!" || value == "[Unknown Error]" || value == "[ERR!]") {
    return "does not answer (nvidia-smi: " + std::string(value) + ")";
  }
  return {};
}

// Reads the values of one line; the first trouble and the first error are kept.
class LineReader {
 public:
  LineReader(std::string_view line, std::string what)
      : what_(std::move(what)), fields_(split_commas(line)) {}

  std::size_t size() const { return fields_.size(); }
  std::string_view text(std::size_t i) const { return fields_[i]; }
  const std::string& trouble() const { return trouble_; }
  const std::optional<Error>& error() const { return error_; }

  std::optional<std::uint64_t> number(std::size_t i, const char* name, std::uint64_t max) {
    if (is_unknown(fields_[i])) return {};
    if (const std::string trouble = trouble_in(fields_[i]); !trouble.empty()) {
      if (trouble_.empty()) trouble_ = trouble;
      return {};
    }
    const auto value = parse_digits(fields_[i], max);
    if (!value && !error_) error_ = wrong(std::string(name) + " is " + shown(fields_[i]));
    return value;
  }

  Error wrong(const std::string& how) const {
    return {ErrorCode::kUnsupported, "nvidia-smi wrote " + what_ + " that is not understood: " +
                                         how + "; is the driver's version very old or very new?"};
  }

 private:
  std::string what_;
  std::vector<std::string_view> fields_;
  std::string trouble_;
  std::optional<Error> error_;
};

bool is_uuid(std::string_view text) {
  return (text.starts_with("GPU-") || text.starts_with("MIG-")) && text.size() > 4 &&
         text.size() <= 96 && printable_text(text) == text && text.find(' ') == text.npos;
}

// So that it sorts, and looks as other sources write it.
std::string bus_text(std::string_view text) {
  std::string out = printable_text(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

Result<SmiGpu> parse_gpu(std::string_view line) {
  LineReader fields(line, "a line about a GPU");
  if (fields.size() != kGpuFields) {
    return fields.wrong(shown(line) + " has " + std::to_string(fields.size()) + " fields, not 9");
  }
  SmiGpu gpu;
  GpuReading& reading = gpu.reading;
  fields.number(0, "index", 100000);
  if (!is_uuid(fields.text(1))) return fields.wrong("uuid is " + shown(fields.text(1)));
  reading.uuid = std::string(fields.text(1));
  reading.name = printable_text(fields.text(2));
  reading.pci_bus = bus_text(fields.text(3));
  reading.memory =
      MiB(static_cast<std::int64_t>(fields.number(4, "memory.total", kMostMib).value_or(0)));
  reading.used =
      MiB(static_cast<std::int64_t>(fields.number(5, "memory.used", kMostMib).value_or(0)));
  reading.utilization = share_from_percent(fields.number(6, "utilization.gpu", 1000).value_or(0));
  const auto errors = fields.number(7, "ecc.errors", ~std::uint64_t{0}).value_or(0);
  gpu.celsius = static_cast<int>(fields.number(8, "temperature", 1000).value_or(-1));
  if (fields.error()) return *fields.error();
  reading.type = type_of_gpu(reading.name, reading.memory);
  reading.trouble = fields.trouble();
  if (reading.trouble.empty() && errors > 0) {
    reading.trouble = std::to_string(errors) +
                      " uncorrectable memory error(s) (ECC): reset the GPU, or replace it";
  }
  return gpu;
}

}  // namespace

std::vector<std::string> nvidia_smi_gpu_arguments() {
  return {
      "--query-gpu=index,uuid,name,pci.bus_id,memory.total,memory.used,utilization.gpu,"
      "ecc.errors.uncorrected.volatile.total,temperature.gpu",
      "--format=csv,noheader,nounits"};
}

std::vector<std::string> nvidia_smi_process_arguments() {
  return {"--query-compute-apps=pid,gpu_uuid,used_memory", "--format=csv,noheader,nounits"};
}

Result<std::vector<SmiGpu>> parse_nvidia_smi_gpus(std::string_view text) {
  std::vector<SmiGpu> gpus;
  while (!text.empty()) {
    const std::string_view line = trimmed(next_line(text));
    if (line.empty() || line == "No devices were found") continue;
    auto gpu = parse_gpu(line);
    if (!gpu) return gpu.error();
    for (const SmiGpu& other : gpus) {
      if (other.reading.uuid == gpu->reading.uuid) {
        return Error{ErrorCode::kUnsupported,
                     "nvidia-smi named the GPU " + shown(gpu->reading.uuid) + " twice"};
      }
    }
    gpus.push_back(std::move(*gpu));
  }
  std::stable_sort(gpus.begin(), gpus.end(), [](const SmiGpu& a, const SmiGpu& b) {
    return a.reading.pci_bus < b.reading.pci_bus;
  });
  return gpus;
}

Result<std::vector<SmiProcess>> parse_nvidia_smi_processes(std::string_view text) {
  std::vector<SmiProcess> processes;
  while (!text.empty()) {
    const std::string_view line = trimmed(next_line(text));
    if (line.empty() || line == "No running processes found") continue;
    LineReader fields(line, "a line about a process");
    if (fields.size() != kProcessFields) {
      return fields.wrong(shown(line) + " has " + std::to_string(fields.size()) + " fields, not 3");
    }
    SmiProcess process;
    const auto pid = fields.number(0, "pid", std::uint64_t{1} << 31);
    if (!is_uuid(fields.text(1))) return fields.wrong("gpu_uuid is " + shown(fields.text(1)));
    process.gpu_uuid = std::string(fields.text(1));
    const auto memory = fields.number(2, "used_memory", kMostMib);
    if (fields.error()) return *fields.error();
    if (!pid) continue;
    process.process.pid = static_cast<std::int64_t>(*pid);
    process.process.memory = memory ? MiB(static_cast<std::int64_t>(*memory)) : kMemoryNotTold;
    processes.push_back(std::move(process));
  }
  return processes;
}

Error nvidia_smi_failure(int exit_code, std::string_view text) {
  while (!text.empty() && text.find_first_not_of(" \t\r\n") != 0) text.remove_prefix(1);
  const std::string said = printable_text(text.substr(0, text.find('\n')));
  const std::string tail = " (nvidia-smi ended with code " + std::to_string(exit_code) +
                           (said.empty() ? ")" : ": " + said + ")");
  switch (exit_code) {
    case 6:
      return not_found("there is no NVIDIA GPU" + tail);
    case 9:
      return not_found("no NVIDIA driver is loaded" + tail);
    case 12:
      return not_found("NVIDIA's library libnvidia-ml.so.1 is not installed" + tail);
    case 15:
      return {ErrorCode::kUnavailable, "a GPU fell off the bus" + tail};
    case 18:
      return {ErrorCode::kUnavailable,
              "NVIDIA's driver and library differ in version: restart the machine" + tail};
    case 127:
      return not_found("nvidia-smi cannot be run" + tail);
    default:
      return {ErrorCode::kUnavailable, "NVIDIA GPUs cannot be read" + tail};
  }
}

}  // namespace tutti
