#include "cli/output/nodes.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output/block.h"
#include "cli/output/gpus.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "cli/output/transfers.h"
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

// Which columns a list of nodes needs: those that would be empty are left out.
struct NodeColumns {
  bool elsewhere = false;  // some are other machines, of which the number of jobs matters
  bool address = false;    // of some it says more than the name
  bool labels = false;
  bool seen = false;  // some were heard of at another time than now
};

NodeColumns columns_for(const std::vector<NodeView>& nodes) {
  NodeColumns columns;
  for (const NodeView& node : nodes) {
    columns.elsewhere = columns.elsewhere || !node.address.empty();
    columns.address = columns.address || (!node.address.empty() && node.address != node.name);
    columns.labels = columns.labels || !node.labels.empty();
    columns.seen = columns.seen || (node.state == "down" && node.measured_at);
  }
  return columns;
}

std::string seen_text(const NodeView& node, TimePoint now) {
  if (node.address.empty()) return "-";
  return node.measured_at ? ago(node.measured_at, now) : "never";
}

// Below the table, where a sentence has room: why nodes are in their state.
std::string state_reasons(const std::vector<NodeView>& nodes, const Screen& screen) {
  std::string text;
  for (const NodeView& node : nodes) {
    if (node.reason.empty()) continue;
    // A reason of ssh begins with the machine it is about.
    if (!node.reason.starts_with(node.name + " ")) {
      text += fmt::format("{} is {}: ", printable(node.name),
                          screen.styled(style_of_state(node.state), node.state));
    }
    text += printable(node.reason) + "\n";
  }
  return text.empty() ? text : "\n" + text;
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
  const NodeColumns has = columns_for(nodes);
  std::vector<Table::Column> columns = {{"NODE", Align::kLeft, 30}, {"STATE"},
                                        {"CORES", Align::kRight},   {"FREE", Align::kRight},
                                        {"MEMORY", Align::kRight},  {"FREE", Align::kRight},
                                        {"GPUS", Align::kRight}};
  if (has.elsewhere) columns.push_back({"JOBS", Align::kRight});
  if (has.seen) columns.push_back({"SEEN"});
  if (has.labels) columns.push_back({"LABELS", Align::kLeft, 24});
  if (has.address) columns.push_back({"ADDRESS"});
  Table table(columns);
  for (const NodeView& node : nodes) {
    std::vector<Table::Cell> row = {node.name, {node.state, style_of_state(node.state)}};
    row.emplace_back(cpus_text(node.cpus));
    row.emplace_back(cpus_text(node.free_cpus));
    row.emplace_back(format_memory(MiB(node.memory_mib)));
    row.emplace_back(format_memory(MiB(node.free_memory_mib)));
    row.emplace_back(node.devices.empty() ? "0" : count_types(node.devices));
    if (has.elsewhere) row.emplace_back(jobs_text(node));
    if (has.seen) row.emplace_back(seen_text(node, now));
    if (has.labels) row.emplace_back(node.labels.empty() ? "-" : joined(node.labels, ","));
    if (has.address) row.emplace_back(node.address.empty() ? "-" : node.address);
    table.add(std::move(row));
  }
  return table.render(screen) + state_reasons(nodes, screen);
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
  for (const TransferView& transfer : node.transfers) {
    std::string jobs;
    for (const std::uint64_t job : transfer.jobs)
      jobs += fmt::format("{}{}", jobs.empty() ? "" : ", ", job);
    block.add("copying", fmt::format("{} job {}: {}", transfer.back ? "results of" : "files of",
                                     jobs, transfer_text(transfer)));
  }
  return screen.styled(Style::kBold, "Node " + printable(node.name)) + "\n" + block.text();
}

}  // namespace tutti
