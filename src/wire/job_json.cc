#include "wire/job_json.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <limits>

#include "base/nearest.h"
#include "core/spec/array_range.h"
#include "core/spec/dependency.h"
#include "core/spec/field.h"
#include "core/spec/model_text.h"
#include "core/spec/quantity.h"
#include "core/spec/text.h"
#include "core/spec/validate.h"
#include "wire/gang_json.h"
#include "wire/json_fields.h"
#include "wire/spec_parts.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

// A spec while it is read: fields that only mean something together are joined at the end.
struct Draft {
  JobSpec spec;
  std::string script_name;
  std::vector<std::string> args;
  std::uint32_t array_limit = 0;  // after the % of an array
  std::uint32_t own_limit = 0;    // of max_parallel
  bool command = false;
  bool script = false;
  bool lines = false;
  const json::value* workers = nullptr;  // read last: they begin with what is said for all
};

Result<void> read_scalar(std::string_view field, const json::value& value, Draft& draft) {
  const auto text = scalar_from_json(field, value);
  if (!text) return text.error();
  return set_field(draft.spec, field, *text);
}

Result<void> read_words(std::string_view field, const json::value& value,
                        std::vector<std::string>& target) {
  auto words = words_from_json(value, field);
  if (!words) return words.error();
  target = std::move(*words);
  return {};
}

Result<void> read_job_command(const json::value& value, Draft& draft) {
  draft.command = true;
  return read_command(value, draft.spec.command);
}

Result<void> read_script(const json::value& value, Draft& draft) {
  draft.script = true;
  return read_word("script", value, draft.spec.command.script);
}

Result<void> read_lines(const json::value& value, Draft& draft) {
  draft.lines = true;
  return read_words("lines", value, draft.spec.lines);
}

Result<void> read_line_numbers(const json::value& value, Draft& draft) {
  const auto* array = value.if_array();
  if (array == nullptr) return invalid_input("line_numbers must be an array of whole numbers");
  draft.spec.line_numbers.reserve(array->size());
  for (const auto& element : *array) {
    const auto number =
        integer_from_json(element, "line_numbers", 0, std::numeric_limits<std::uint32_t>::max());
    if (!number) return number.error();
    draft.spec.line_numbers.push_back(static_cast<std::uint32_t>(*number));
  }
  return {};
}

Result<void> read_labels(const json::value& value, Draft& draft) {
  auto& labels = draft.spec.request.labels;
  const auto done = read_words("labels", value, labels);
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return done;
}

Result<void> read_node_limits(const json::value& value, Draft& draft) {
  const auto* object = value.if_object();
  if (object == nullptr) return invalid_input("node_limits must be an object of nodes and numbers");
  std::vector<NodeLimit>& limits = draft.spec.node_limits;
  for (const auto& member : *object) {
    const std::string field = "node_limits " + shown(member.key());
    const auto tasks = integer_from_json(member.value(), field, 1, kMaxTasks);
    if (!tasks) return tasks.error();
    limits.push_back({std::string(member.key()), static_cast<std::uint32_t>(*tasks)});
  }
  std::sort(limits.begin(), limits.end(),
            [](const NodeLimit& a, const NodeLimit& b) { return a.node < b.node; });
  return {};
}

Result<Dependency> dependency_of(const json::value& value) {
  if (!value.is_number()) {
    const auto text = word_from_json(value, "a job's id");
    if (!text) return text.error();
    return parse_dependency(*text);
  }
  const auto id =
      integer_from_json(value, "a job's id", 1, std::numeric_limits<std::int64_t>::max());
  if (!id) return id.error();
  return Dependency{JobId(static_cast<std::uint64_t>(*id)), Dependency::When::kSuccess};
}

Result<void> read_after(const json::value& value, Draft& draft) {
  const auto* array = value.if_array();
  if (array == nullptr) return invalid_input("after must be an array of job ids");
  for (const auto& element : *array) {
    const auto dependency = dependency_of(element);
    if (!dependency) return of_field("after", dependency.error());
    const auto added = add_dependency(draft.spec.after, *dependency);
    if (!added) return of_field("after", added.error());
  }
  return {};
}

Result<void> read_results(const json::value& value, Draft& draft) {
  constexpr std::array<std::string_view, 2> kKeys = {"folder", "paths"};
  const auto object = object_from_json(value, "results", kKeys);
  if (!object) return object.error();
  const auto* folder = (*object)->if_contains("folder");
  const auto* paths = (*object)->if_contains("paths");
  if (folder == nullptr || paths == nullptr) {
    return invalid_input("results needs a folder and paths");
  }
  const auto done = read_word("results.folder", *folder, draft.spec.results.folder);
  return done ? read_words("results.paths", *paths, draft.spec.results.paths) : done;
}

// "array" and "max_parallel" may come in either order, and both may name a limit.
Result<void> read_array(const json::value& value, Draft& draft) {
  Draft alone;
  const auto done = read_scalar("array", value, alone);
  draft.spec.tasks = alone.spec.tasks;
  draft.array_limit = alone.spec.tasks.max_parallel;
  return done;
}

Result<void> read_max_parallel(const json::value& value, Draft& draft) {
  Draft alone;
  const auto done = read_scalar("max_parallel", value, alone);
  draft.own_limit = alone.spec.tasks.max_parallel;
  return done;
}

// A list, or one text with commas.
Result<void> read_configurations(const json::value& value, Draft& draft) {
  if (!value.is_array()) return read_scalar("configurations", value, draft);
  const auto words = words_from_json(value, "configurations");
  if (!words) return words.error();
  std::string text;
  for (const std::string& word : *words) text += (text.empty() ? "" : ",") + word;
  return set_field(draft.spec, "configurations", text);
}

// A number as such, or "1.3B".
Result<std::uint64_t> parameters_from_json(const json::value& value) {
  const auto text = scalar_from_json("params", value);
  if (!text) return text.error();
  return parse_parameters(*text);
}

Result<void> read_model(const json::value& value, Draft& draft) {
  if (value.is_string()) return read_scalar("model", value, draft);
  constexpr std::array<std::string_view, 3> kKeys = {"name", "params", "batch"};
  const auto object = object_from_json(value, "model", kKeys);
  if (!object) return object.error();
  for (const std::string_view key : kKeys)
    if (!(*object)->contains(key)) return invalid_input("model needs " + std::string(key));
  ModelRun& run = draft.spec.model;
  if (const auto read = read_word("model.name", (*object)->at("name"), run.name); !read)
    return read;
  const auto parameters = parameters_from_json((*object)->at("params"));
  if (!parameters) return invalid_input("model.params: " + parameters.error().message);
  const auto batch = integer_from_json((*object)->at("batch"), "model.batch", 1, kMostBatch);
  if (!batch) return batch.error();
  run.parameters = *parameters;
  run.batch = static_cast<std::uint64_t>(*batch);
  return check_model_run(run);
}

// A key that is not simply one piece of text, and how its value is read.
struct Field {
  std::string_view name;
  Result<void> (*read)(const json::value& value, Draft& draft);
};

constexpr Field kFields[] = {
    {"command", read_job_command},
    {"script", read_script},
    {"script_name",
     [](const json::value& v, Draft& d) { return read_word("script_name", v, d.script_name); }},
    {"args", [](const json::value& v, Draft& d) { return read_words("args", v, d.args); }},
    {"lines", read_lines},
    {"line_numbers", read_line_numbers},
    {"array", read_array},
    {"max_parallel", read_max_parallel},
    {"labels", read_labels},
    {"node_limits", read_node_limits},
    {"after", read_after},
    {"env", [](const json::value& v, Draft& d) { return read_variables("env", v, d.spec.env); }},
    {"remote_env",
     [](const json::value& v, Draft& d) { return read_variables("env", v, d.spec.remote_env); }},
    {"results", read_results},
    {"workers",
     [](const json::value& v, Draft& d) {
       d.workers = &v;
       return Result<void>();
     }},
    {"container",
     [](const json::value& v, Draft& d) { return read_container(v, d.spec.container); }},
    {"configurations", read_configurations},
    {"model", read_model},
    {"snapshot",
     [](const json::value& v, Draft& d) { return read_word("snapshot", v, d.spec.snapshot); }},
};

Error unknown_key(std::string_view key) {
  std::vector<std::string_view> known(scalar_fields().begin(), scalar_fields().end());
  for (const Field& field : kFields)
    if (std::find(known.begin(), known.end(), field.name) == known.end())
      known.push_back(field.name);
  return invalid_input("unknown key " + shown(key) + " in a job" + did_you_mean(key, known));
}

Result<void> read_member(std::string_view key, const json::value& value, Draft& draft) {
  for (const Field& field : kFields) {
    if (field.name == key) return field.read(value, draft);
  }
  const auto scalars = scalar_fields();
  if (std::find(scalars.begin(), scalars.end(), key) == scalars.end()) return unknown_key(key);
  return read_scalar(key, value, draft);
}

Result<void> join_workers(Draft& draft) {
  if (draft.workers == nullptr) return {};
  auto workers = workers_from_json(*draft.workers, draft.spec.request);
  if (!workers) return workers.error();
  if (draft.lines || draft.spec.tasks.shape == TaskSet::Shape::kArray || draft.own_limit != 0) {
    return invalid_input(
        "workers cannot be combined with array, lines and max_parallel; give one of them");
  }
  draft.spec.gang.workers = *std::move(workers);
  return {};
}

Result<void> join_command(Draft& draft) {
  const int ways = draft.command + draft.script + draft.lines;
  const auto& workers = draft.spec.gang.workers;
  const bool of_workers =
      !workers.empty() && std::all_of(workers.begin(), workers.end(),
                                      [](const auto& group) { return !group.command.empty(); });
  if (ways != 1 && !(ways == 0 && of_workers))
    return invalid_input("a job needs exactly one of command, script and lines");
  Command& command = draft.spec.command;
  if (draft.script) {
    command.argv.push_back(draft.script_name.empty() ? "script" : draft.script_name);
    command.argv.insert(command.argv.end(), draft.args.begin(), draft.args.end());
  } else if (!draft.args.empty() || !draft.script_name.empty()) {
    return invalid_input("args and script_name need a script");
  }
  return {};
}

Result<void> join_tasks(Draft& draft) {
  TaskSet& tasks = draft.spec.tasks;
  if (draft.array_limit != 0 && draft.own_limit != 0 && draft.array_limit != draft.own_limit) {
    return invalid_input("max_parallel differs from the number after % in array");
  }
  tasks.max_parallel = std::max(draft.array_limit, draft.own_limit);
  const auto& numbers = draft.spec.line_numbers;
  if (!draft.lines) {
    return numbers.empty() ? Result<void>() : invalid_input("line_numbers needs lines");
  }
  if (tasks.shape == TaskSet::Shape::kArray) {
    return invalid_input("a batch of lines cannot also be an array");
  }
  if (draft.spec.lines.empty()) return invalid_input("lines: a batch needs at least one line");
  if (draft.spec.lines.size() > kMaxTasks) {
    return invalid_input("lines: at most " + std::to_string(kMaxTasks) + " are allowed");
  }
  if (!numbers.empty() && numbers.size() != draft.spec.lines.size()) {
    return invalid_input("line_numbers must have one number for each of the lines");
  }
  tasks.shape = TaskSet::Shape::kBatch;
  tasks.count = static_cast<std::uint32_t>(draft.spec.lines.size());
  tasks.first = 1;
  return {};
}

}  // namespace

Result<JobSpec> spec_from_json(const json::value& value) {
  const auto* object = value.if_object();
  if (object == nullptr) return invalid_input("a job must be a JSON object");
  Draft draft;
  for (const auto& member : *object) {
    const auto done = read_member(member.key(), member.value(), draft);
    if (!done) return done.error();
  }
  if (const auto joined = join_workers(draft); !joined) return joined.error();
  if (const auto joined = join_command(draft); !joined) return joined.error();
  if (const auto joined = join_tasks(draft); !joined) return joined.error();
  fill_gang(draft.spec);
  return std::move(draft.spec);
}

}  // namespace tutti
