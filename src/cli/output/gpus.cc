#include "cli/output/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/output/block.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

constexpr int kWide = 120;

std::string type_text(const std::string& type, bool emulated) {
  return (type.empty() ? "GPU" : type) + (emulated ? " (emulated)" : "");
}

std::string state_text(const GpuView& gpu) {
  if (gpu.healthy) return "ok";
  return gpu.reason.empty() ? "unhealthy" : gpu.reason;
}

std::string holder_text(const GpuHolderView& holder) {
  std::string text = holder.lease != 0  ? fmt::format("lease {}", holder.lease)
                     : holder.task != 0 ? fmt::format("{}.{}", holder.job, holder.task)
                                        : std::to_string(holder.job);
  return holder.measuring ? text + " (measuring)" : text;
}

std::string foreign_text(const ForeignView& process) {
  return fmt::format("{}: {} (pid {})", process.user.empty() ? "?" : process.user,
                     process.command.empty() ? "?" : process.command, process.pid);
}

// The optional columns of the table: whose machine it is where there are several, and the vendor's
// name where there is room.
struct Extra {
  bool node = false;
  bool name = false;
};

Extra extra_columns(const GpusView& view, const Screen& screen) {
  Extra extra;
  extra.name = screen.width() >= kWide;
  for (const GpuView& gpu : view.gpus) extra.node |= gpu.node != view.gpus.front().node;
  return extra;
}

std::string table_of(const GpusView& view, const Screen& screen) {
  using Align = Table::Align;
  const Extra extra = extra_columns(view, screen);
  std::vector<Table::Column> columns;
  if (extra.node) columns.push_back({"NODE", Align::kLeft, 20});
  columns.insert(columns.end(), {{"ID", Align::kRight}, {"GPU"}});
  if (extra.name) columns.push_back({"NAME", Align::kLeft, 30});
  columns.insert(columns.end(), {{"USED", Align::kRight},
                                 {"RESERVED", Align::kRight},
                                 {"TOTAL", Align::kRight},
                                 {"UTIL", Align::kRight},
                                 {"STATE", Align::kLeft, extra.name ? 24u : 8u},
                                 {"WHO"}});
  Table table(columns);
  for (const GpuView& gpu : view.gpus) {
    std::vector<Table::Cell> row;
    if (extra.node) row.emplace_back(gpu.node);
    row.emplace_back(std::to_string(gpu.index));
    row.emplace_back(type_text(gpu.type, gpu.emulated));
    if (extra.name) row.emplace_back(gpu.name);
    row.emplace_back(format_memory(MiB(gpu.used_mib)));
    row.emplace_back(format_memory(MiB(gpu.reserved_mib)));
    row.emplace_back(format_memory(MiB(gpu.memory_mib)));
    row.emplace_back(percent(gpu.utilization));
    row.emplace_back(state_text(gpu), gpu.healthy ? Style::kGreen : Style::kRed);
    row.emplace_back(users_text(gpu));
    table.add(std::move(row));
  }
  return table.render(screen);
}

std::string why_none(const GpusView& view) {
  std::string text = "No GPUs were found.\n";
  for (const std::string& note : view.notes) text += "  - " + printable(note) + "\n";
  // The daemon that was asked runs already, so that 'start' would change nothing.
  return text + "To try it without one: tutti daemon restart --emulate-gpus 4xA100-80G\n";
}

}  // namespace

std::string render_gpus(const GpusView& view, const Screen& screen) {
  std::string text;
  if (!view.gpus.empty()) text = table_of(view, screen);
  if (!view.trouble.empty()) {
    text += screen.styled(Style::kRed, "trouble: " + printable(view.trouble)) + "\n";
  } else if (view.gpus.empty()) {
    text += why_none(view);
  }
  // On a terminal the table may have cut the reasons.
  for (const GpuView& gpu : view.gpus) {
    if (gpu.healthy) continue;
    const std::string line = fmt::format("GPU {} gets no work: {}", gpu.index, state_text(gpu));
    text += screen.styled(Style::kRed, printable(line)) + "\n";
  }
  return text;
}

std::string count_types(const std::vector<DeviceTypeView>& devices) {
  std::vector<std::pair<DeviceTypeView, int>> counts;
  for (const DeviceTypeView& device : devices) {
    auto known = std::find_if(counts.begin(), counts.end(),
                              [&](const auto& count) { return count.first == device; });
    if (known == counts.end()) known = counts.insert(known, {device, 0});
    ++known->second;
  }
  std::string text;
  for (const auto& [device, count] : counts) {
    text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", count,
                        type_text(device.type, device.emulated));
  }
  return text;
}

std::vector<DeviceTypeView> types_of(const std::vector<GpuView>& gpus) {
  std::vector<DeviceTypeView> types;
  for (const GpuView& gpu : gpus) types.push_back({gpu.type, gpu.emulated});
  return types;
}

std::string users_text(const GpuView& gpu) {
  std::string text;
  const auto add = [&text](const std::string& user) { text += (text.empty() ? "" : ", ") + user; };
  for (const GpuHolderView& holder : gpu.holders) add(holder_text(holder));
  for (const ForeignView& process : gpu.foreign) add(foreign_text(process));
  return text.empty() ? "-" : text;
}

std::string render_task_gpus(const TaskView& task) {
  Block block;
  std::string granted;
  for (const GrantView& grant : task.gpus) {
    granted += fmt::format("{}{}", granted.empty() ? "" : ", ", grant.index);
    if (grant.granted_mib > 0) granted += " with " + format_memory(MiB(grant.granted_mib));
  }
  block.add("GPUs", granted);
  std::string used;
  if (task.gpu_peak_mib > 0) used = "peak " + format_memory(MiB(task.gpu_peak_mib));
  if (task.gpu_utilization) {
    used += fmt::format("{}{} busy", used.empty() ? "" : ", ", percent(*task.gpu_utilization));
  }
  block.add("GPU use", used);
  if (task.oom_retries > 0) {
    block.add("GPU memory", "ran out of it before, started again " +
                                counted(task.oom_retries, "time") + " with more");
  }
  return block.text();
}

std::string percent(double part) {
  return fmt::format("{}%", std::llround(std::clamp(part, 0.0, 10.0) * 100));
}

}  // namespace tutti
