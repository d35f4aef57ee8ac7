#include "cli/job_fields.h"

#include <boost/json.hpp>
#include <filesystem>
#include <limits>

#include "cli/gang_request.h"
#include "core/spec/machine.h"
#include "core/spec/quantity.h"
#include "core/spec/text.h"
#include "core/spec/validate.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

// An option whose text is the field's value.
struct TextField {
  std::string_view option;
  std::string_view field;
};
constexpr TextField kTextFields[] = {
    {"name", "name"},
    {"project", "project"},
    {"kind", "kind"},
    {"cpus", "cpus"},
    {"mem", "mem"},
    {"gpus", "gpus"},
    {"gpu-mem", "gpu_mem"},
    {"time", "time"},
    {"grace", "grace"},
    {"backoff", "backoff"},
    {"array", "array"},
    {"output", "output"},
    {"error", "error"},
    {"gpu-util", "gpu_util"},
    {"share", "share"},
    {"gpu-policy", "gpu_policy"},
    {"model", "model"},
    {"configurations", "configurations"},
    {"framework", "framework"},
};

Result<void> apply_numbers(const Arguments& arguments, json::object& job) {
  constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
  if (arguments.has("priority")) {
    auto priority = parse_priority(arguments.value("priority"));
    if (!priority) return priority.error();
    job["priority"] = *priority;
  }
  if (arguments.has("retries")) {
    auto retries = parse_count("retries", arguments.value("retries"), 0, kMaxRetries);
    if (!retries) return retries.error();
    job["retries"] = *retries;
  }
  if (arguments.has("max-parallel")) {
    auto most = parse_count("max-parallel", arguments.value("max-parallel"), 1, kMost);
    if (!most) return most.error();
    job["max_parallel"] = *most;
  }
  return {};
}

// --on is one more label, --results what comes back; its folder is completed with the work
// directory.
Result<void> apply_places(const Arguments& arguments, json::object& job) {
  if (arguments.has("on")) {
    const auto label = label_of_places(arguments.value("on"));
    if (!label) return label.error();
    auto& labels = job["labels"];
    if (!labels.is_array()) labels = json::array();
    labels.as_array().push_back(text_to_json(*label));
  }
  if (!arguments.has("results") && !arguments.has("results-to")) return {};
  json::array paths;
  for (const std::string& text : arguments.list("results")) {
    for (const std::string_view path : split_commas(text)) paths.push_back(text_to_json(path));
  }
  if (paths.empty()) paths.push_back(".");
  job["results"] = json::object{{"folder", text_to_json(arguments.value("results-to"))},
                                {"paths", std::move(paths)}};
  return {};
}

}  // namespace

json::array dependencies_of(const Arguments& arguments) {
  json::array list;
  for (const std::string& text : arguments.list("after")) {
    for (const std::string_view part : split_commas(text)) list.push_back(text_to_json(part));
  }
  return list;
}

Result<std::string> absolute_folder(const std::string& folder) {
  std::error_code failure;
  const auto path = std::filesystem::canonical(folder, failure);
  if (failure) return io_error("workdir: cannot use " + shown(folder), failure.value());
  if (!std::filesystem::is_directory(path, failure)) {
    return invalid_input("workdir: " + shown(folder) + " is not a folder");
  }
  return path.string();
}

Result<void> apply_job_options(const Arguments& arguments, json::object& job) {
  for (const TextField& field : kTextFields) {
    if (!arguments.has(field.option)) continue;
    job[field.field] = text_to_json(arguments.value(field.option));
  }
  // What a file says of the one is not meant any more when the other is asked for here.
  if (arguments.has("configurations") && !arguments.has("gpus")) job.erase("gpus");
  if (arguments.has("gpus") && !arguments.has("configurations")) job.erase("configurations");
  if (arguments.has("exclusive")) job["share"] = "never";
  if (auto applied = apply_numbers(arguments, job); !applied) return applied;
  if (auto applied = set_workers(arguments, job); !applied) return applied;
  if (arguments.has("after")) job["after"] = dependencies_of(arguments);
  if (arguments.has("label")) {
    json::array labels;
    for (const std::string& label : arguments.list("label")) labels.push_back(text_to_json(label));
    job["labels"] = std::move(labels);
  }
  if (auto applied = apply_places(arguments, job); !applied) return applied;
  if (arguments.has("workdir")) {
    auto folder = absolute_folder(arguments.value("workdir"));
    if (!folder) return folder.error();
    job["workdir"] = text_to_json(*folder);
  }
  return {};
}

}  // namespace tutti
