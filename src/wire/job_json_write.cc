#include <boost/json.hpp>

#include "core/spec/array_range.h"
#include "core/spec/dependency.h"
#include "core/spec/model_text.h"
#include "wire/gang_json.h"
#include "wire/job_json.h"
#include "wire/spec_parts.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

void put_command(const JobSpec& spec, json::object& out) {
  if (!spec.lines.empty()) {
    out["lines"] = texts_to_json(spec.lines);
    if (!spec.line_numbers.empty()) {
      out["line_numbers"] = json::array(spec.line_numbers.begin(), spec.line_numbers.end());
    }
  } else if (!spec.command.script.empty()) {
    out["script"] = text_to_json(spec.command.script);
    if (!spec.command.argv.empty()) out["script_name"] = text_to_json(spec.command.argv.front());
    if (spec.command.argv.size() > 1) out["args"] = texts_to_json(spec.command.argv, 1);
  } else if (!spec.command.empty()) {
    out["command"] = command_to_json(spec.command);
  }
}

void put_tasks(const TaskSet& tasks, json::object& out) {
  const bool array = tasks.shape == TaskSet::Shape::kArray;
  if (array) out["array"] = format_array_range(tasks);  // its limit included
  if (tasks.max_parallel > 0 && !array) out["max_parallel"] = tasks.max_parallel;
}

// What workers want is said of each group: the job's own request is that of the first.
void put_gang(const JobSpec& spec, bool with_env, json::object& out) {
  const Gang defaults;
  if (spec.gang.framework != defaults.framework)
    out["framework"] = framework_name(spec.gang.framework);
  if (spec.gang.start_timeout != defaults.start_timeout)
    out["start_timeout"] = seconds_to_json(spec.gang.start_timeout);
  if (!spec.gang.workers.empty()) out["workers"] = workers_to_json(spec.gang.workers, with_env);
  if (spec.container != Container()) out["container"] = container_to_json(spec.container);
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
  if (spec.gang.workers.empty()) put_request(spec.request, out);
  put_gang(spec, with_env, out);
  if (!spec.model.name.empty()) {
    out["model"] = json::object{{"name", text_to_json(spec.model.name)},
                                {"params", format_parameters(spec.model.parameters)},
                                {"batch", spec.model.batch}};
  }
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
                                  {"paths", texts_to_json(spec.results.paths)}};
  }
  if (!spec.snapshot.empty()) out["snapshot"] = text_to_json(spec.snapshot);
  return out;
}

}  // namespace tutti
