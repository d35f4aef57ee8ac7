#include "cli/output/ranks.h"

#include <fmt/format.h>

#include "cli/output/table.h"
#include "cli/output/text.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

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

}  // namespace

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

}  // namespace tutti
