#include "sim/scenario_options.h"

#include <algorithm>
#include <map>

#include "core/spec/field.h"
#include "core/spec/model_text.h"
#include "core/spec/quantity.h"
#include "core/speed/speed_text.h"
#include "sim/sim_command.h"

namespace tutti {
namespace {

using JobNamed = std::function<std::optional<JobId>(const std::string&)>;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (from <= text.size()) {
    const std::size_t to = std::min(text.find(separator, from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

template <typename T>
Result<void> put(T& field, const Result<T>& parsed) {
  if (!parsed) return parsed.error();
  field = *parsed;
  return {};
}

Result<void> put_after(JobSpec& spec, const std::string& text, const JobNamed& job_named) {
  for (const std::string& part : split(text, ',')) {
    const std::size_t colon = std::min(part.find(':'), part.size());
    const std::string name = part.substr(0, colon);
    const std::string when = colon < part.size() ? part.substr(colon + 1) : "success";
    const std::optional<JobId> job = job_named(name);
    if (!job) return invalid_input("after: there is no job '" + name + "' yet");
    Dependency dependency{.job = *job};
    if (when == "any") {
      dependency.when = Dependency::When::kAny;
    } else if (when == "failure") {
      dependency.when = Dependency::When::kFailure;
    } else if (when != "success") {
      return invalid_input("after: write NAME, NAME:any or NAME:failure");
    }
    spec.after.push_back(dependency);
  }
  return {};
}

Result<void> put_array(JobSpec& spec, const std::string& value) {
  spec.tasks.shape = TaskSet::Shape::kArray;
  return put(spec.tasks.count, parse_count("array", value, 1, 10'000'000));
}

Result<void> put_gpus(DeviceRequest& devices, const std::string& value) {
  const Result<DeviceRequest> parsed = parse_gpus(value);
  if (!parsed) return parsed.error();
  devices.count = parsed->count;
  devices.type = parsed->type;
  return {};
}

// What the simulated command does. Nothing: the option is not about that.
std::optional<Result<void>> put_command(SimCommand& command, const ScenarioOption& option) {
  const auto& [key, value] = option;
  std::uint32_t code = 0;
  if (key == "runs") return put(command.runs, parse_duration(value));
  if (key == "fails") return put(command.fails, parse_count(key, value, 0, 1'000'000));
  if (key == "exit") {
    const Result<void> parsed = put(code, parse_count(key, value, 0, 255));
    command.exit_code = static_cast<int>(code);
    return parsed;
  }
  if (key == "gpu-uses") return put(command.gpu_uses, parse_memory(value));
  if (key == "gpu-load") return put(command.gpu_load, parse_share(value));
  if (key == "ignores-stop") command.ignores_stop = true;
  if (key == "not-started") command.not_started = true;
  if (key == "ignores-stop" || key == "not-started") return Result<void>();
  return std::nullopt;
}

std::optional<Result<void>> put_request(Request& request, const ScenarioOption& option) {
  const auto& [key, value] = option;
  if (key == "cpus") return put(request.cpus, parse_cpus(value));
  if (key == "mem") return put(request.memory, parse_memory(value));
  if (key == "gpus") return put_gpus(request.devices, value);
  if (key == "gpu-mem") return put(request.devices.memory, parse_memory(value));
  if (key == "gpu-util") return put(request.devices.share, parse_share(value));
  if (key == "exclusive") {
    request.devices.sharing = Sharing::kNever;
    return Result<void>();
  }
  if (key == "labels") {
    request.labels = split(value, ',');
    return Result<void>();
  }
  return std::nullopt;
}

Result<void> put_rest(JobSpec& spec, const ScenarioOption& option, const JobNamed& job_named) {
  const auto& [key, value] = option;
  if (key == "time") return put(spec.time_limit, parse_duration(value));
  if (key == "grace") return put(spec.grace, parse_duration(value));
  if (key == "priority") return put(spec.priority, parse_priority(value));
  if (key == "retries") return put(spec.retry.max, parse_count(key, value, 0, 1000));
  if (key == "backoff") return put(spec.retry.backoff, parse_duration(value));
  if (key == "configurations" || key == "model") return set_field(spec, key, value);
  if (key == "array") return put_array(spec, value);
  if (key == "parallel") return put(spec.tasks.max_parallel, parse_count(key, value, 1, 1'000'000));
  if (key == "after") return put_after(spec, value, job_named);
  std::map<std::string, std::string*> texts = {
      {"user", &spec.user}, {"project", &spec.project}, {"kind", &spec.kind}};
  const auto text = texts.find(key);
  if (text == texts.end()) return invalid_input("submit does not know '" + key + "'");
  *text->second = value;
  return {};
}

}  // namespace

Result<JobSpec> spec_of(const ScenarioAction& action, const JobNamed& job_named) {
  JobSpec spec;
  spec.name = spec.kind = action.name;
  spec.user = "user";
  spec.workdir = "/";
  SimCommand command;
  for (const ScenarioOption& option : action.options) {
    std::optional<Result<void>> done = put_command(command, option);
    if (!done) done = put_request(spec.request, option);
    if (!done) done = put_rest(spec, option, job_named);
    if (!*done) return done->error();
  }
  spec.command.argv = command.argv();
  return spec;
}

Result<Node> node_of(const ScenarioAction& action) {
  Node node;
  node.name = action.name;
  DeviceRequest gpus;
  MiB gpu_memory(16384);
  for (const ScenarioOption& option : action.options) {
    const auto& [key, value] = option;
    Result<void> done;
    if (key == "cpus") {
      done = put(node.cpus, parse_cpus(value));
    } else if (key == "mem") {
      done = put(node.memory, parse_memory(value));
    } else if (key == "gpus") {
      done = put_gpus(gpus, value);
    } else if (key == "gpu-mem") {
      done = put(gpu_memory, parse_memory(value));
    } else if (key == "labels") {
      node.labels = split(value, ',');
    } else if (key == "backlog") {
      node.keeps_backlog = true;
    } else {
      done = invalid_input("node does not know '" + key + "'");
    }
    if (!done) return done.error();
  }
  std::sort(node.labels.begin(), node.labels.end());
  for (std::uint32_t i = 0; i < gpus.count; ++i)
    node.devices.push_back({.id = DeviceId(i), .type = gpus.type, .memory = gpu_memory});
  return node;
}

Result<SpeedChange> speed_of(const ScenarioAction& action) {
  const auto run = parse_model_run(action.name);
  if (!run) return run.error();
  SpeedChange change{{*run, {}}, Speed()};
  for (const auto& [key, value] : action.options) {
    if (key == "on") {
      const auto shape = parse_column_name(value);
      if (!shape) return shape.error();
      change.cell.shape = *shape;
    } else if (key == "takes") {
      const auto takes = parse_duration(value);
      if (!takes) return takes.error();
      change.speed->seconds = static_cast<double>(takes->value) * 1e-6;
    } else {
      return invalid_input("speed takes on=NODES_TYPE_NODES_n_DEVICES_d and takes=TIME");
    }
  }
  return change;
}

}  // namespace tutti
