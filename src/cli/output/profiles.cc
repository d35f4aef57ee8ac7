#include "cli/output/profiles.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output/block.h"
#include "cli/output/gpus.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "core/spec/command_line.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

// What the other columns of the table need at most, as a rule.
constexpr int kOtherColumns = 62;

std::vector<Table::Cell> kind_cells(const ProfileView& profile) {
  return {profile.kind, grouped(profile.samples), format_duration(profile.p50),
          format_duration(profile.p90), format_memory(MiB(profile.peak_memory_mib))};
}

std::vector<Table::Cell> gpu_cells(const GpuProfileView& gpu) {
  return {gpu.type, format_memory(MiB(gpu.peak_mib)), format_memory(MiB(gpu.need_mib)),
          percent(gpu.utilization)};
}

void add_rows(const ProfileView& profile, Table& table) {
  std::vector<std::vector<Table::Cell>> gpus;
  for (const GpuProfileView& gpu : profile.gpus) gpus.push_back(gpu_cells(gpu));
  if (gpus.empty()) gpus.push_back({"-", "-", "-", "-"});
  std::vector<Table::Cell> kind = kind_cells(profile);
  for (const auto& gpu : gpus) {
    std::vector<Table::Cell> row = kind;
    row.insert(row.end(), gpu.begin(), gpu.end());
    table.add(std::move(row));
    // What is true of all types stands in the first row.
    kind.assign(kind.size(), Table::Cell(""));
  }
}

// "2xA100-80G": what is true of runs that had two of them.
bool is_several(std::string_view type) {
  const std::size_t mark = type.find('x');
  return mark != type.npos && mark > 0 && type.find_first_not_of("0123456789") == mark;
}

// "an A100-80G", "a T4", "an RTX-4090": the letters of a model are spelt.
std::string with_article(std::string_view type) {
  constexpr std::string_view kSpeltWithVowel = "AEFHILMNORSX";
  constexpr std::string_view kVowels = "AEIOU";
  if (is_several(type)) return "each of " + std::string(type);
  const bool is_word = type.size() > 1 && type[1] >= 'a' && type[1] <= 'z';
  const bool vowel = !type.empty() &&
                     (is_word ? kVowels : kSpeltWithVowel).find(type[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + std::string(type);
}

std::string meaning(const ProfileView& profile) {
  std::string text;
  for (const GpuProfileView& gpu : profile.gpus) {
    if (gpu.need_mib <= 0) continue;
    text += fmt::format("The next run reserves {} on {}.\n", format_memory(MiB(gpu.need_mib)),
                        printable(with_article(gpu.type)));
  }
  if (!text.empty()) return text;
  return "No run on a GPU was measured yet; the next one has its GPUs to itself and is measured.\n";
}

std::string preallocation_hint(const std::string& kind) {
  // Recent peaks decide what is reserved; those of before would count for many runs.
  return fmt::format(
      "It takes nearly all GPU memory at its start, whatever it needs, and so cannot share a GPU.\n"
      "Submit it with --env XLA_PYTHON_CLIENT_PREALLOCATE=false (JAX) or\n"
      "--env TF_FORCE_GPU_ALLOW_GROWTH=true (TensorFlow), and first: tutti profile forget {}\n",
      printable(shell_quote(kind)));
}

std::string gpu_text(const GpuProfileView& gpu) {
  return fmt::format("{}: {}, peak {}, {} busy", printable(gpu.type), counted(gpu.samples, "run"),
                     format_memory(MiB(gpu.peak_mib)), percent(gpu.utilization));
}

}  // namespace

std::string render_profiles(const std::vector<ProfileView>& profiles, const Screen& screen) {
  using Align = Table::Align;
  const auto room = static_cast<std::size_t>(std::max(16, screen.width() - kOtherColumns));
  Table table({{"KIND", Align::kLeft, room},
               {"RUNS", Align::kRight},
               {"P50", Align::kRight},
               {"P90", Align::kRight},
               {"MEMORY", Align::kRight},
               {"GPU"},
               {"PEAK", Align::kRight},
               {"NEED", Align::kRight},
               {"UTIL", Align::kRight}});
  for (const ProfileView& profile : profiles) add_rows(profile, table);
  return table.render(screen);
}

std::string render_profile(const ProfileView& profile, const Screen& screen) {
  Block block;
  block.add("runs", grouped(profile.samples));
  if (profile.samples > 0) {
    block.add("time", fmt::format("half of them within {}, 9 of 10 within {}",
                                  format_duration(profile.p50), format_duration(profile.p90)));
  }
  if (profile.peak_memory_mib > 0) {
    block.add("memory", "peak " + format_memory(MiB(profile.peak_memory_mib)));
  }
  bool preallocates = false;
  for (const GpuProfileView& gpu : profile.gpus) {
    block.add("GPU", gpu_text(gpu));
    preallocates = preallocates || gpu.preallocates;
  }
  return screen.styled(Style::kBold, "Kind " + printable(profile.kind)) + "\n" + block.text() +
         meaning(profile) + (preallocates ? preallocation_hint(profile.kind) : "");
}

}  // namespace tutti
