#include "emulator/gpu_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/nearest.h"

namespace tutti::emulator {
namespace {

// What a spec's type stands for in the world. Constant table.
struct KnownGpu {
  std::string_view type;
  std::string_view name;
  int watts;
};

constexpr KnownGpu kKnown[] = {
    {"A100-80G", "NVIDIA A100-SXM4-80GB", 400},
    {"A100-40G", "NVIDIA A100-SXM4-40GB", 400},
    {"H100-80G", "NVIDIA H100 80GB HBM3", 700},
    {"H200-141G", "NVIDIA H200", 700},
    {"V100-32G", "Tesla V100-SXM2-32GB", 300},
    {"V100-16G", "Tesla V100-SXM2-16GB", 300},
    {"P100-16G", "Tesla P100-PCIE-16GB", 250},
    {"T4-16G", "Tesla T4", 70},
    {"L4-24G", "NVIDIA L4", 72},
    {"L40S-48G", "NVIDIA L40S", 350},
    {"A10-24G", "NVIDIA A10", 150},
    {"A30-24G", "NVIDIA A30", 165},
    {"A40-48G", "NVIDIA A40", 300},
    {"RTXA6000-48G", "NVIDIA RTX A6000", 300},
    {"RTX2080Ti-11G", "NVIDIA GeForce RTX 2080 Ti", 250},
    {"RTX3080-10G", "NVIDIA GeForce RTX 3080", 320},
    {"RTX3090-24G", "NVIDIA GeForce RTX 3090", 350},
    {"RTX4080-16G", "NVIDIA GeForce RTX 4080", 320},
    {"RTX4090-24G", "NVIDIA GeForce RTX 4090", 450},
    {"RTX5090-32G", "NVIDIA GeForce RTX 5090", 575},
};
constexpr int kUnknownWatts = 300;
constexpr int kMaxGib = 4096;

constexpr auto kTypes = [] {
  std::array<std::string_view, std::size(kKnown)> types;
  for (std::size_t i = 0; i < types.size(); ++i) types[i] = kKnown[i].type;
  return types;
}();

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::optional<int> whole_number(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text[0] == '-' || text[0] == '0' || value > most) return std::nullopt;
  return value;
}

// "20G" as 20.
std::optional<int> gibibytes(std::string_view text) {
  if (text.size() < 2 || text.back() != 'G') return std::nullopt;
  return whole_number(text.substr(0, text.size() - 1), kMaxGib);
}

bool same_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// The known type that the user may have meant by one that is none: "a100-80g", "A100", "A100-8OG".
std::string suggestion(std::string_view type) {
  for (const KnownGpu& known : kKnown) {
    if (same_but_for_case(type, known.type) || known.type.starts_with(std::string(type) + "-"))
      return ", did you mean " + quoted(known.type) + "?";
  }
  return did_you_mean(type, kTypes);
}

Result<GpuDescription> parse_type(std::string_view type, const std::string& where) {
  const std::size_t dash = type.rfind('-');
  const auto gib = dash == std::string_view::npos ? std::nullopt : gibibytes(type.substr(dash + 1));
  const bool plain = !type.empty() && is_letter(type[0]) && type.size() < 32 &&
                     std::all_of(type.begin(), type.end(),
                                 [](char c) { return is_digit(c) || is_letter(c) || c == '-'; });
  if (!gib || !plain)
    return invalid_input(where + ": " + quoted(type) +
                         " is not of the form TYPE-MEMORYG, such as A100-80G" + suggestion(type));
  for (const KnownGpu& known : kKnown) {
    if (known.type == type)
      return GpuDescription{std::string(type), std::string(known.name), *gib, known.watts};
    if (same_but_for_case(known.type, type))
      return invalid_input(where + ": no type " + quoted(type) + suggestion(type));
  }
  const std::string model(type.substr(0, dash));
  return GpuDescription{std::string(type), "NVIDIA " + model + " " + std::to_string(*gib) + " GB",
                        *gib, kUnknownWatts};
}

// "mig3x20G" of a GPU.
Result<void> parse_slices(std::string_view text, const std::string& where, GpuDescription& gpu) {
  const std::size_t x = text.find('x');
  const auto count = text.starts_with("mig") && x != std::string_view::npos
                         ? whole_number(text.substr(3, x - 3), kMaxSlices)
                         : std::nullopt;
  const auto gib = count ? gibibytes(text.substr(x + 1)) : std::nullopt;
  if (!gib)
    return invalid_input(where + ": " + quoted(text) +
                         " is not of the form migNxMEMORYG with N from 1 to " +
                         std::to_string(kMaxSlices) + ", such as mig3x20G");
  if (*count * *gib > gpu.memory_gib)
    return invalid_input(where + ": " + std::to_string(*count) + " slices of " +
                         std::to_string(*gib) + "G do not fit into " +
                         std::to_string(gpu.memory_gib) + "G");
  gpu.slices = *count;
  gpu.slice_gib = *gib;
  return {};
}

Result<void> parse_item(std::string_view item, const std::string& where,
                        std::vector<GpuDescription>& gpus) {
  int count = 1;
  const std::size_t digits = std::min(item.find_first_not_of("0123456789"), item.size());
  if (digits > 0) {
    const auto number = whole_number(item.substr(0, digits), kMaxGpus);
    if (!number)
      return invalid_input(where + ": the count " + quoted(item.substr(0, digits)) +
                           " is not a number from 1 to " + std::to_string(kMaxGpus));
    if (digits == item.size() || item[digits] != 'x')
      return invalid_input(where + ": after the count comes x and the type, such as " +
                           std::to_string(*number) + "xA100-80G");
    count = *number;
    item.remove_prefix(digits + 1);
  }
  const std::size_t slash = std::min(item.find('/'), item.size());
  auto gpu = parse_type(item.substr(0, slash), where);
  if (!gpu) return gpu.error();
  if (slash < item.size()) {
    auto sliced = parse_slices(item.substr(slash + 1), where, *gpu);
    if (!sliced) return sliced;
  }
  gpus.insert(gpus.end(), static_cast<std::size_t>(count), *gpu);
  if (gpus.size() > kMaxGpus)
    return invalid_input(where + ": more than " + std::to_string(kMaxGpus) + " GPUs in all");
  return {};
}

}  // namespace

Result<std::vector<GpuDescription>> parse_gpu_spec(std::string_view spec) {
  if (spec.size() > 500) return invalid_input("emulated GPUs: more than 500 characters");
  if (spec.empty())
    return invalid_input("emulated GPUs: nothing given; write for example 4xA100-80G");
  std::vector<GpuDescription> gpus;
  for (std::size_t begin = 0; begin <= spec.size();) {
    const std::size_t end = std::min(spec.find(',', begin), spec.size());
    const std::string_view item = spec.substr(begin, end - begin);
    const std::string where =
        "emulated GPUs " + quoted(spec) + ", at character " + std::to_string(begin + 1);
    auto parsed = parse_item(item, where, gpus);
    if (!parsed) return parsed.error();
    begin = end + 1;
  }
  return gpus;
}

}  // namespace tutti::emulator
