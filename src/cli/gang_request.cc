#include "cli/gang_request.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "cli/environment.h"
#include "core/spec/field.h"
#include "core/spec/quantity.h"
#include "core/spec/validate.h"

namespace tutti {
namespace {

namespace json = boost::json;

// An option and the field of workers that it sets.
struct WorkerOption {
  std::string_view option;
  std::string_view field;
  bool of_gpus;
};
constexpr std::array<WorkerOption, 7> kOptions = {{
    {"cpus", "cpus", false},
    {"mem", "mem", false},
    {"gpus", "gpus", false},
    {"gpu-mem", "gpu_mem", true},
    {"gpu-util", "gpu_util", true},
    {"share", "share", true},
    {"gpu-policy", "gpu_policy", true},
}};

std::string absolute(const std::filesystem::path& folder, const std::string& path) {
  std::string made = (folder / path).lexically_normal().string();
  while (made.size() > 1 && made.ends_with('/')) made.pop_back();
  return made;
}

Result<void> apply_to_group(const Arguments& arguments, WorkerGroup& group) {
  const MilliCpu asked = group.ranks.request.cpus;
  for (const WorkerOption& option : kOptions) {
    const bool meant = !option.of_gpus || group.ranks.request.devices.count > 0;
    if (!arguments.has(option.option) || !meant) continue;
    const auto set = set_worker_field(group, option.field, arguments.value(option.option));
    if (!set) return set;
  }
  // A limit stays as many times what is asked for.
  group.cpu_limit.value = group.cpu_limit.value * group.ranks.request.cpus.value / asked.value;
  DeviceRequest& devices = group.ranks.request.devices;
  if (arguments.has("exclusive") && devices.count > 0) devices.sharing = Sharing::kNever;
  if (arguments.has("time")) group.time_limit = Duration(0);
  if (arguments.has("label")) group.ranks.request.labels.clear();
  const auto settings = arguments.list("env");
  std::erase_if(group.env, [&](const std::string& variable) {
    return std::any_of(settings.begin(), settings.end(), [&](const std::string& setting) {
      return variable_name(setting) == variable_name(variable);
    });
  });
  return {};
}

}  // namespace

void complete_paths(JobSpec& spec, const std::filesystem::path& folder) {
  if (!spec.workdir.empty()) spec.workdir = absolute(folder, spec.workdir);
  if (!spec.results.folder.empty()) spec.results.folder = absolute(folder, spec.results.folder);
  Container& container = spec.container;
  if (container.build != ImageBuild()) {
    container.build.dockerfile = absolute(folder, container.build.dockerfile);
    container.build.context = absolute(folder, container.build.context);
  }
  for (std::string& mount : container.mounts) {
    const std::size_t colon = mount.find(':');
    if (colon == mount.npos) continue;  // not a mount, as validate() will say
    mount = absolute(folder, mount.substr(0, colon)) + mount.substr(colon);
  }
}

Result<void> apply_to_workers(const Arguments& arguments, JobSpec& spec) {
  for (WorkerGroup& group : spec.gang.workers) {
    if (const auto applied = apply_to_group(arguments, group); !applied) return applied;
  }
  return {};
}

Result<void> set_workers(const Arguments& arguments, json::object& job) {
  if (!arguments.has("workers")) return {};
  const auto count = parse_count("workers", arguments.value("workers"), 1, kMaxRanks);
  if (!count) return count.error();
  auto& groups = job["workers"];
  if (!groups.is_array()) groups = json::array{json::object()};
  if (groups.as_array().size() != 1)
    return invalid_input("--workers: the file has several groups of workers; say it there");
  groups.as_array()[0].as_object()["count"] = *count;
  return {};
}

void drop_worker_fields(json::object& job) {
  if (!job.contains("workers")) return;
  for (const WorkerOption& option : kOptions) job.erase(option.field);
}

bool wants_labels(const json::object& job) {
  if (job.contains("labels")) return true;
  const auto* workers = job.if_contains("workers");
  if (workers == nullptr || !workers->is_array()) return false;
  return std::any_of(workers->as_array().begin(), workers->as_array().end(),
                     [](const json::value& group) {
                       return group.is_object() && group.as_object().contains("labels");
                     });
}

}  // namespace tutti
