#include "cli/output/ranks.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <map>

#include "cli/output/block.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "client/answer_fields.h"
#include "client/views.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

namespace json = boost::json;

std::string gpus_text(const DeviceRequest& devices) {
  if (devices.count == 0) return "-";
  std::string text = devices.type.empty() ? std::to_string(devices.count)
                                          : fmt::format("{} × {}", devices.count, devices.type);
  if (devices.memory.value > 0) text += ", " + format_memory(devices.memory) + " each";
  return text;
}

// "Worker 3"; of a set of equal jobs "worker[1] 3".
std::string place_in_group(const WorkerGroup& group, Framework framework, std::uint32_t index) {
  const bool set = framework == Framework::kJobset;
  return fmt::format("{}{} {}", group.name, set ? fmt::format("[{}]", group.replica) : "", index);
}

std::string numbers_text(const json::value& rank, std::string_view key) {
  std::string text;
  const json::value* numbers = rank.as_object().if_contains(key);
  if (numbers == nullptr || !numbers->is_array()) return "-";
  for (const json::value& one : numbers->as_array())
    text += (text.empty() ? "" : ",") + json::serialize(one);
  return text.empty() ? "-" : text;
}

std::string summary(const JobSpec& spec) {
  std::string text = fmt::format("{} workers", spec.tasks.count);
  if (spec.gang.framework != Framework::kNone)
    text += fmt::format(" of {}", framework_name(spec.gang.framework));
  const Container& container = spec.container;
  if (!container.image.empty()) {
    text += fmt::format(" in {}{}", printable(container.image),
                        container.build.dockerfile.empty()
                            ? ""
                            : ", built from " + printable(container.build.dockerfile));
  }
  return text;
}

// "2 × Worker: 0.5 cores, 128M memory, failFast", of all jobs in a set.
std::string group_text(const WorkerGroup& group, const Gang& gang) {
  std::uint64_t ranks = 0;
  for (const WorkerGroup& other : gang.workers)
    if (other.name == group.name) ranks += other.ranks.count;
  const Request& request = group.ranks.request;
  std::string text = fmt::format("{} × {}: {} core{}", grouped(ranks), printable(group.name),
                                 format_cpus(request.cpus), request.cpus.value == 1000 ? "" : "s");
  if (request.memory.value > 0) text += fmt::format(", {} memory", format_memory(request.memory));
  if (request.devices.count > 0) text += ", GPUs " + gpus_text(request.devices);
  if (group.time_limit.value > 0)
    text += fmt::format(", at most {}", format_duration(group.time_limit));
  return text + ", " + failure_rule_name(group.ranks.failure);
}

}  // namespace

std::string render_groups(const JobSpec& spec) {
  Block block;
  block.add("gang", summary(spec));
  for (const WorkerGroup& group : spec.gang.workers)
    if (group.replica == 0) block.add("request", group_text(group, spec.gang));
  if (spec.time_limit.value > 0) block.add("time limit", format_duration(spec.time_limit));
  return block.text();
}

std::string render_ranks(const JobSpec& spec, const Screen& screen) {
  using Align = Table::Align;
  Table table({{"RANK", Align::kRight},
               {"GROUP"},
               {"CPUS", Align::kRight},
               {"MEM", Align::kRight},
               {"PORTS", Align::kRight},
               {"FAILURE"},
               {"GPUS"}});
  std::uint32_t rank = 0;
  for (const WorkerGroup& group : spec.gang.workers) {
    const Request& request = group.ranks.request;
    for (std::uint32_t i = 0; i < group.ranks.count; ++i) {
      table.add({std::to_string(rank++), place_in_group(group, spec.gang.framework, i),
                 format_cpus(request.cpus), format_memory(request.memory),
                 std::to_string(request.ports), failure_rule_name(group.ranks.failure),
                 gpus_text(request.devices)});
    }
  }
  return summary(spec) + "\n" + table.render(screen);
}

std::string render_plan(const json::array& plan, const Screen& screen) {
  using Align = Table::Align;
  Table table({{"RANK", Align::kRight}, {"GROUP"}, {"NODE"}, {"GPUS"}, {"PORTS"}});
  std::map<std::string, std::size_t> told;  // how many ranks are told this
  for (const json::value& rank : plan) {
    table.add({std::to_string(integer_at(rank, "rank").value_or(0)),
               printable(text_at(rank, "group")), printable(text_at(rank, "node")),
               numbers_text(rank, "devices"), numbers_text(rank, "ports")});
    for (const std::string& entry : texts_at(rank, "env")) ++told[entry];
  }
  std::string text = table.render(screen) + "\nAll are told:\n";
  for (const auto& [entry, ranks] : told) {
    if (ranks == plan.size()) text += "  " + printable(entry) + "\n";
  }
  for (const json::value& rank : plan) {
    text += fmt::format("Rank {}:\n", integer_at(rank, "rank").value_or(0));
    for (const std::string& entry : texts_at(rank, "env")) {
      if (told[entry] < plan.size()) text += "  " + printable(entry) + "\n";
    }
  }
  return text;
}

}  // namespace tutti
