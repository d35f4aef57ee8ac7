#include "core/spec/field.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/nearest.h"
#include "core/spec/array_range.h"
#include "core/spec/model_text.h"
#include "core/spec/quantity.h"
#include "core/spec/text.h"
#include "core/spec/validate.h"

namespace tutti {
namespace {

using Setter = Result<void> (*)(JobSpec&, std::string_view);

// Stores a parsed value where `into` points, or gives its error.
template <typename T>
Result<void> store(Result<T> value, T& into) {
  if (!value) return value.error();
  into = *std::move(value);
  return {};
}

template <std::string JobSpec::*kMember>
Result<void> set_text(JobSpec& spec, std::string_view text) {
  if (text.empty()) return invalid_input("is empty");
  spec.*kMember = text;
  return {};
}

template <Duration JobSpec::*kMember>
Result<void> set_duration(JobSpec& spec, std::string_view text) {
  return store(parse_duration(text), spec.*kMember);
}

Result<void> set_time(JobSpec& spec, std::string_view text) {
  const Result<Duration> limit = parse_duration(text);
  if (!limit) return limit.error();
  if (limit->value == 0) return invalid_input("must be more than zero, such as 1h30m");
  spec.time_limit = *limit;
  return {};
}

Result<void> set_array(JobSpec& spec, std::string_view text) {
  const Result<TaskSet> tasks = parse_array_range(text);
  if (!tasks) return tasks.error();
  const std::uint32_t before = spec.tasks.max_parallel;
  spec.tasks = *tasks;
  if (spec.tasks.max_parallel == 0) spec.tasks.max_parallel = before;
  return {};
}

Result<void> set_max_parallel(JobSpec& spec, std::string_view text) {
  return store(parse_count("max_parallel", text, 1, kMaxTasks), spec.tasks.max_parallel);
}

Result<void> set_cpus(JobSpec& spec, std::string_view text) {
  spec.request.limit_cpus = true;
  return store(parse_cpus(text), spec.request.cpus);
}

Result<void> set_memory(JobSpec& spec, std::string_view text) {
  const Result<void> stored = store(parse_memory(text), spec.request.memory);
  spec.request.limit_memory = spec.request.memory.value > 0;
  return stored;
}

Error gpus_twice() {
  return invalid_input("gpus and configurations cannot be combined; keep one of them");
}

Result<void> set_gpus(JobSpec& spec, std::string_view text) {
  if (!spec.request.configurations.empty()) return gpus_twice();
  const Result<DeviceRequest> gpus = parse_gpus(text);
  if (!gpus) return gpus.error();
  spec.request.devices.count = gpus->count;
  spec.request.devices.type = gpus->type;
  return {};
}

// The first stands for all where one is asked for.
Result<void> set_configurations(JobSpec& spec, std::string_view text) {
  auto configurations = parse_configurations(text);
  if (!configurations) return configurations.error();
  if (spec.request.configurations.empty() && spec.request.devices.count > 0) return gpus_twice();
  spec.request = with_configuration(spec.request, configurations->front());
  spec.request.configurations = *std::move(configurations);
  return {};
}

Result<void> set_model(JobSpec& spec, std::string_view text) {
  return store(parse_model_run(text), spec.model);
}

Result<void> set_gpu_memory(JobSpec& spec, std::string_view text) {
  return store(parse_memory(text), spec.request.devices.memory);
}

Result<void> set_gpu_util(JobSpec& spec, std::string_view text) {
  return store(parse_share(text), spec.request.devices.share);
}

Result<void> set_sharing(JobSpec& spec, std::string_view text) {
  if (text != "auto" && text != "never") {
    return invalid_input("share " + shown(text) + ": write auto or never");
  }
  spec.request.devices.sharing = text == "never" ? Sharing::kNever : Sharing::kAuto;
  return {};
}

Result<void> set_packing(JobSpec& spec, std::string_view text) {
  if (text != "pack" && text != "spread") {
    return invalid_input("gpu_policy " + shown(text) + ": write pack or spread");
  }
  spec.request.devices.packing = text == "spread" ? Packing::kSpread : Packing::kPack;
  return {};
}

Result<void> set_priority(JobSpec& spec, std::string_view text) {
  return store(parse_priority(text), spec.priority);
}

Result<void> set_retries(JobSpec& spec, std::string_view text) {
  return store(parse_count("retries", text, 0, kMaxRetries), spec.retry.max);
}

Result<void> set_backoff(JobSpec& spec, std::string_view text) {
  return store(parse_duration(text), spec.retry.backoff);
}

Result<void> set_framework(JobSpec& spec, std::string_view text) {
  return store(parse_framework(text), spec.gang.framework);
}

Result<void> set_start_timeout(JobSpec& spec, std::string_view text) {
  const Result<Duration> timeout = parse_duration(text);
  if (!timeout) return timeout.error();
  if (timeout->value == 0) return invalid_input("must be more than zero, such as 10m");
  spec.gang.start_timeout = *timeout;
  return {};
}

Result<void> set_image(JobSpec& spec, std::string_view text) {
  if (text.empty()) return invalid_input("is empty");
  if (!spec.container.image.empty() && spec.container.image != text) {
    return invalid_input("image " + shown(text) + ": container names another one; keep one");
  }
  spec.container.image = text;
  return {};
}

constexpr std::array<std::string_view, 25> kNames = {
    "name",      "project",       "kind",  "array",          "max_parallel",
    "cpus",      "mem",           "gpus",  "gpu_mem",        "gpu_util",
    "priority",  "time",          "grace", "retries",        "backoff",
    "workdir",   "output",        "error", "share",          "gpu_policy",
    "framework", "start_timeout", "image", "configurations", "model"};
constexpr std::array<Setter, kNames.size()> kSetters = {
    set_text<&JobSpec::name>,
    set_text<&JobSpec::project>,
    set_text<&JobSpec::kind>,
    set_array,
    set_max_parallel,
    set_cpus,
    set_memory,
    set_gpus,
    set_gpu_memory,
    set_gpu_util,
    set_priority,
    set_time,
    set_duration<&JobSpec::grace>,
    set_retries,
    set_backoff,
    set_text<&JobSpec::workdir>,
    set_text<&JobSpec::stdout_pattern>,
    set_text<&JobSpec::stderr_pattern>,
    set_sharing,
    set_packing,
    set_framework,
    set_start_timeout,
    set_image,
    set_configurations,
    set_model,
};

}  // namespace

std::span<const std::string_view> scalar_fields() {
  return kNames;
}

Result<void> set_field(JobSpec& spec, std::string_view field, std::string_view text) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), field);
  if (found == kNames.end()) {
    return invalid_input("unknown field " + shown(field) + did_you_mean(field, kNames));
  }
  const Result<void> stored =
      kSetters[static_cast<std::size_t>(found - kNames.begin())](spec, text);
  return stored ? stored : of_field(field, stored.error());
}

}  // namespace tutti
