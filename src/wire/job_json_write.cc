#include <boost/json.hpp>

#include "core/spec/array_range.h"
#include "core/spec/dependency.h"
#include "wire/job_json.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

json::array texts(const std::vector<std::string>& words, std::size_t first = 0) {
  json::array array;
  array.reserve(words.size());
  for (std::size_t i = first; i < words.size(); ++i) array.push_back(text_to_json(words[i]));
  return array;
}

json::value thousandths(std::int64_t milli) {
  if (milli % 1000 == 0) return milli / 1000;
  return static_cast<double>(milli) / 1000;
}

// An object where it can hold the same, that is if every name is UTF-8 and stands once.
json::value env_to_json(const std::vector<std::string>& env) {
  json::object object;
  object.reserve(env.size());
  for (const auto& variable : env) {
    const std::size_t equals = variable.find('=');
    const std::string_view name = std::string_view(variable).substr(0, equals);
    if (equals == variable.npos || !is_utf8(name) || object.contains(name)) return texts(env);
    object.emplace(name, text_to_json(std::string_view(variable).substr(equals + 1)));
  }
  return object;
}

void put_command(const JobSpec& spec, json::object& out) {
  if (!spec.lines.empty()) {
    out["lines"] = texts(spec.lines);
    if (!spec.line_numbers.empty()) {
      out["line_numbers"] = json::array(spec.line_numbers.begin(), spec.line_numbers.end());
    }
  } else if (!spec.command.script.empty()) {
    out["script"] = text_to_json(spec.command.script);
    if (!spec.command.argv.empty()) out["script_name"] = text_to_json(spec.command.argv.front());
    if (spec.command.argv.size() > 1) out["args"] = texts(spec.command.argv, 1);
  } else if (!spec.command.argv.empty()) {
    out["command"] = texts(spec.command.argv);
  } else if (!spec.command.shell.empty()) {
    out["command"] = text_to_json(spec.command.shell);
  }
}

void put_request(const Request& request, json::object& out) {
  if (request.limit_cpus) out["cpus"] = thousandths(request.cpus.value);
  if (request.limit_memory) out["mem"] = request.memory.value;
  const DeviceRequest& devices = request.devices;
  if (devices.count > 0 && devices.type.empty()) out["gpus"] = devices.count;
  if (!devices.type.empty()) {
    out["gpus"] = text_to_json(devices.type + ":" + std::to_string(devices.count));
  }
  if (devices.memory.value > 0) out["gpu_mem"] = devices.memory.value;
  if (devices.share.value > 0) out["gpu_util"] = thousandths(devices.share.value);
  if (devices.sharing == Sharing::kNever) out["share"] = "never";
  if (devices.packing == Packing::kSpread) out["gpu_policy"] = "spread";
  if (!request.labels.empty()) out["labels"] = texts(request.labels);
}

void put_tasks(const TaskSet& tasks, json::object& out) {
  const bool array = tasks.shape == TaskSet::Shape::kArray;
  if (array) out["array"] = format_array_range(tasks);  // its limit included
  if (tasks.max_parallel > 0 && !array) out["max_parallel"] = tasks.max_parallel;
}

void put_rules(const JobSpec& spec, json::object& out) {
  const JobSpec defaults;
  if (spec.priority != 0) out["priority"] = spec.priority;
  if (spec.time_limit != defaults.time_limit) out["time"] = seconds_to_json(spec.time_limit);
  if (spec.grace != defaults.grace) out["grace"] = seconds_to_json(spec.grace);
  if (spec.retry.max > 0) out["retries"] = spec.retry.max;
  if (spec.retry.backoff != defaults.retry.backoff) {
    out["backoff"] = seconds_to_json(spec.retry.backoff);
  }
  if (spec.after.empty()) return;
  json::array after;
  for (const Dependency& dependency : spec.after) {
    after.push_back(json::string(format_dependency(dependency)));
  }
  out["after"] = std::move(after);
}

}  // namespace

json::value spec_to_json(const JobSpec& spec, bool with_env) {
  json::object out;
  if (!spec.name.empty()) out["name"] = text_to_json(spec.name);
  out["project"] = text_to_json(spec.project);
  if (!spec.kind.empty()) out["kind"] = text_to_json(spec.kind);
  put_command(spec, out);
  put_tasks(spec.tasks, out);
  put_request(spec.request, out);
  if (!spec.node_limits.empty()) {
    json::object limits;
    for (const NodeLimit& limit : spec.node_limits) limits[limit.node] = limit.tasks;
    out["node_limits"] = std::move(limits);
  }
  put_rules(spec, out);
  if (!spec.workdir.empty()) out["workdir"] = text_to_json(spec.workdir);
  if (with_env && !spec.env.empty()) out["env"] = env_to_json(spec.env);
  if (!spec.stdout_pattern.empty()) out["output"] = text_to_json(spec.stdout_pattern);
  if (!spec.stderr_pattern.empty()) out["error"] = text_to_json(spec.stderr_pattern);
  if (with_env && !spec.remote_env.empty()) out["remote_env"] = env_to_json(spec.remote_env);
  if (!spec.results.folder.empty() || !spec.results.paths.empty()) {
    out["results"] = json::object{{"folder", text_to_json(spec.results.folder)},
                                  {"paths", texts(spec.results.paths)}};
  }
  if (!spec.snapshot.empty()) out["snapshot"] = text_to_json(spec.snapshot);
  return out;
}

}  // namespace tutti
