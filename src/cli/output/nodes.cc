#include "cli/output/nodes.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output/block.h"
#include "cli/output/gpus.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

using Align = Table::Align;

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : std::string(between)) + word;
  return out;
}

std::string jobs_text(const NodeView& node) {
  if (node.max_jobs == 0) return std::to_string(node.jobs);
  return fmt::format("{}/{}", node.jobs, node.max_jobs);
}

// Why the node is in its state, when it was heard of if that is not now, and its labels.
std::string note_of(const NodeView& node, TimePoint now) {
  std::string note = node.reason;
  if (node.state == "down" && node.measured_at) {
    note += (note.empty() ? "last seen " : ", last seen ") + ago(node.measured_at, now);
  }
  const std::string labels = joined(node.labels, " ");
  return note + (note.empty() || labels.empty() ? "" : " ") + labels;
}

std::string gpu_line(const MeasuredGpuView& gpu) {
  return fmt::format("{} of {} used, {} busy", format_memory(MiB(gpu.used_mib)),
                     format_memory(MiB(gpu.memory_mib)), percent(gpu.utilization));
}

void add_measured(const NodeView& node, TimePoint now, Block& block) {
  if (!node.measured_at) return;
  block.add("measured", ago(node.measured_at, now));
  block.add("busy", fmt::format("{} of {} cores", cpus_text(node.busy_cpus),
                                cpus_text(node.measured_cpus)));
  block.add("available", fmt::format("{} of {} memory", format_memory(MiB(node.available_mib)),
                                     format_memory(MiB(node.measured_memory_mib))));
  for (const MeasuredGpuView& gpu : node.measured_gpus) {
    block.add(fmt::format("GPU {}", gpu.index), gpu_line(gpu));
  }
}

}  // namespace

std::string node_size(const NodeView& node) {
  std::string text = fmt::format("{} cpu{}", cpus_text(node.cpus), node.cpus == 1 ? "" : "s");
  const auto gib = static_cast<double>(node.memory_mib) / 1024;
  text += gib < 10 ? fmt::format(", {:.1f} GiB", gib) : fmt::format(", {:.0f} GiB", gib);
  return node.devices.empty() ? text + ", no GPU" : text + ", " + count_types(node.devices);
}

std::string render_nodes(const std::vector<NodeView>& nodes, const Screen& screen, TimePoint now) {
  const bool elsewhere = std::any_of(nodes.begin(), nodes.end(),
                                     [](const NodeView& node) { return !node.address.empty(); });
  std::vector<Table::Column> columns = {{"NODE", Align::kLeft, 30}, {"STATE"}};
  if (elsewhere) columns.push_back({"ADDRESS", Align::kLeft, 30});
  columns.insert(columns.end(), {{"CORES", Align::kRight},
                                 {"FREE", Align::kRight},
                                 {"MEMORY", Align::kRight},
                                 {"FREE", Align::kRight},
                                 {"GPUS", Align::kRight}});
  if (elsewhere) columns.push_back({"JOBS", Align::kRight});
  columns.push_back({"NOTE"});
  Table table(columns);
  for (const NodeView& node : nodes) {
    std::vector<Table::Cell> row = {node.name, {node.state, style_of_state(node.state)}};
    if (elsewhere) row.emplace_back(node.address.empty() ? "-" : node.address);
    row.emplace_back(cpus_text(node.cpus));
    row.emplace_back(cpus_text(node.free_cpus));
    row.emplace_back(format_memory(MiB(node.memory_mib)));
    row.emplace_back(format_memory(MiB(node.free_memory_mib)));
    row.emplace_back(node.devices.empty() ? "0" : count_types(node.devices));
    if (elsewhere) row.emplace_back(jobs_text(node));
    row.emplace_back(note_of(node, now));
    table.add(std::move(row));
  }
  return table.render(screen);
}

std::string render_node(const NodeView& node, const Screen& screen, TimePoint now) {
  Block block;
  const std::string reason = node.reason.empty() ? "" : ": " + printable(node.reason);
  block.add("state", screen.styled(style_of_state(node.state), node.state) + reason);
  block.add("address", node.address.empty() ? "this machine" : printable(node.address));
  block.add("size", printable(node_size(node)));
  block.add("free", fmt::format("{} cores, {} memory", cpus_text(node.free_cpus),
                                format_memory(MiB(node.free_memory_mib))));
  block.add("jobs", node.max_jobs == 0 ? std::to_string(node.jobs)
                                       : fmt::format("{} of at most {}", node.jobs, node.max_jobs));
  block.add("labels", printable(joined(node.labels, ", ")));
  add_measured(node, now, block);
  return screen.styled(Style::kBold, "Node " + printable(node.name)) + "\n" + block.text();
}

}  // namespace tutti
