#include "wire/gang_json.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "core/spec/field.h"
#include "core/spec/validate.h"
#include "wire/json_fields.h"
#include "wire/spec_parts.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

std::vector<std::string_view> known_fields() {
  std::vector<std::string_view> known(worker_fields().begin(), worker_fields().end());
  known.insert(known.end(), {"command", "env", "labels"});
  return known;
}

Result<void> read_member(std::string_view field, const json::value& value, WorkerGroup& group) {
  if (field == "command") return read_command(value, group.command);
  if (field == "env") return read_variables("env", value, group.env);
  if (field == "labels") {
    const auto labels = words_from_json(value, "labels");
    if (!labels) return labels.error();
    auto& all = group.ranks.request.labels;
    all.insert(all.end(), labels->begin(), labels->end());
    return {};
  }
  const auto text = scalar_from_json(field, value);
  if (!text) return text.error();
  return set_worker_field(group, field, *text);
}

Result<WorkerGroup> group_from_json(const json::value& value, const Request& request,
                                    std::span<const std::string_view> known) {
  const auto object = object_from_json(value, "a group of workers", known);
  if (!object) return object.error();
  WorkerGroup group = new_worker_group(request);
  for (const auto& member : **object) {
    const auto done = read_member(member.key(), member.value(), group);
    if (!done) return done.error();
  }
  return group;
}

Result<void> read_build(const json::value& value, ImageBuild& build) {
  constexpr std::array<std::string_view, 4> kKeys = {"dockerfile", "context", "target", "args"};
  const auto object = object_from_json(value, "build", kKeys);
  if (!object) return object.error();
  for (const auto& member : **object) {
    const std::string_view key = member.key();
    const json::value& item = member.value();
    Result<void> done;
    if (key == "args") {
      done = read_variables("args", item, build.args);
    } else {
      std::string& into = key == "dockerfile" ? build.dockerfile
                          : key == "context"  ? build.context
                                              : build.target;
      done = read_word(key, item, into);
    }
    if (!done) return done;
  }
  return {};
}

Result<void> read_mounts(const json::value& value, std::vector<std::string>& mounts) {
  auto words = words_from_json(value, "mounts");
  if (!words) return words.error();
  mounts = *std::move(words);
  return {};
}

}  // namespace

Result<std::vector<WorkerGroup>> workers_from_json(const json::value& value,
                                                   const Request& request) {
  const auto* array = value.if_array();
  if (array == nullptr || array->empty())
    return invalid_input("workers must be an array of at least one group");
  if (array->size() > kMaxRanks)
    return invalid_input("workers: at most " + std::to_string(kMaxRanks) + " groups are allowed");
  const auto known = known_fields();
  std::vector<WorkerGroup> workers;
  for (const json::value& element : *array) {
    auto group = group_from_json(element, request, known);
    if (!group) {
      return invalid_input("workers, element " + std::to_string(workers.size() + 1) + ": " +
                           group.error().message);
    }
    workers.push_back(*std::move(group));
  }
  return workers;
}

Result<void> read_container(const json::value& value, Container& container) {
  constexpr std::array<std::string_view, 4> kKeys = {"image", "runtime", "build", "mounts"};
  const auto object = object_from_json(value, "container", kKeys);
  if (!object) return object.error();
  for (const auto& member : **object) {
    const std::string_view key = member.key();
    const json::value& item = member.value();
    Result<void> done;
    if (key == "image") {
      std::string image;
      done = read_word("container: image", item, image);
      if (done && !container.image.empty() && container.image != image)
        done = invalid_input("container: image is given twice; keep one");
      container.image = std::move(image);
    } else if (key == "runtime") {
      done = read_word("container: runtime", item, container.runtime);
    } else if (key == "build") {
      done = read_build(item, container.build);
    } else {
      done = read_mounts(item, container.mounts);
    }
    if (!done) return done;
  }
  return {};
}

json::value workers_to_json(const std::vector<WorkerGroup>& workers, bool with_env) {
  const WorkerGroup defaults = new_worker_group({});
  json::array out;
  out.reserve(workers.size());
  for (const WorkerGroup& group : workers) {
    json::object one;
    one["name"] = text_to_json(group.name);
    one["count"] = group.ranks.count;
    if (group.ranks.parallel > 0) one["parallel"] = group.ranks.parallel;
    if (group.replica > 0) one["replica"] = group.replica;
    if (!group.command.empty()) one["command"] = command_to_json(group.command);
    put_request(group.ranks.request, one);
    if (group.ranks.request.ports != defaults.ranks.request.ports)
      one["ports"] = group.ranks.request.ports;
    if (group.ranks.failure != defaults.ranks.failure)
      one["failure"] = failure_rule_name(group.ranks.failure);
    if (group.time_limit.value > 0) one["time"] = seconds_to_json(group.time_limit);
    if (group.cpu_limit.value > 0) one["cpu_limit"] = thousandths(group.cpu_limit.value);
    if (group.shared_memory.value > 0) one["shm"] = group.shared_memory.value;
    if (with_env && !group.env.empty()) one["env"] = env_to_json(group.env);
    out.push_back(std::move(one));
  }
  return out;
}

json::value container_to_json(const Container& container) {
  json::object out{{"image", text_to_json(container.image)}};
  if (!container.runtime.empty()) out["runtime"] = text_to_json(container.runtime);
  if (!container.mounts.empty()) out["mounts"] = texts_to_json(container.mounts);
  if (container.build == ImageBuild()) return out;
  json::object build{{"dockerfile", text_to_json(container.build.dockerfile)},
                     {"context", text_to_json(container.build.context)}};
  if (!container.build.target.empty()) build["target"] = text_to_json(container.build.target);
  if (!container.build.args.empty()) build["args"] = env_to_json(container.build.args);
  out["build"] = std::move(build);
  return out;
}

}  // namespace tutti
