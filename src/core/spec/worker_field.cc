#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/nearest.h"
#include "core/spec/field.h"
#include "core/spec/quantity.h"
#include "core/spec/text.h"
#include "core/spec/validate.h"

namespace tutti {
namespace {

using WorkerSetter = Result<void> (*)(WorkerGroup&, std::string_view);

// Sets a field that a job has, too, by the job's own rules.
Result<void> set_as_job(WorkerGroup& group, std::string_view field, std::string_view text) {
  JobSpec job;
  job.request = group.ranks.request;
  const Result<void> stored = set_field(job, field, text);
  if (!stored) return stored;
  group.ranks.request = std::move(job.request);
  if (field == "time") group.time_limit = job.time_limit;
  // None at all, whatever is said of the GPUs of the others.
  DeviceRequest& devices = group.ranks.request.devices;
  if (field == "gpus" && devices.count == 0) devices = {};
  return {};
}

Result<void> store_count(Result<std::uint32_t> count, std::uint32_t& into) {
  if (!count) return count.error();
  into = *count;
  return {};
}

Result<void> set_name(WorkerGroup& group, std::string_view text) {
  if (text.empty()) return invalid_input("name: is empty");
  group.name = text;
  return {};
}

Result<void> set_failure(WorkerGroup& group, std::string_view text) {
  const auto rule = parse_failure_rule(text);
  if (!rule) return rule.error();
  group.ranks.failure = *rule;
  return {};
}

Result<void> set_shm(WorkerGroup& group, std::string_view text) {
  const auto size = parse_memory(text);
  if (!size) return of_field("shm", size.error());
  group.shared_memory = *size;
  return {};
}

Result<void> set_cpu_limit(WorkerGroup& group, std::string_view text) {
  const auto cpus = parse_cpus(text);
  if (!cpus) return of_field("cpu_limit", cpus.error());
  group.cpu_limit = *cpus;
  return {};
}

constexpr std::array<std::string_view, 16> kWorkerNames = {
    "name", "count", "parallel", "replica", "ports",    "failure", "shm",        "cpu_limit",
    "cpus", "mem",   "gpus",     "gpu_mem", "gpu_util", "share",   "gpu_policy", "time"};
constexpr std::array<WorkerSetter, 8> kWorkerSetters = {
    set_name,
    [](WorkerGroup& group, std::string_view text) {
      return store_count(parse_count("count", text, 1, kMaxRanks), group.ranks.count);
    },
    [](WorkerGroup& group, std::string_view text) {
      return store_count(parse_count("parallel", text, 0, kMaxRanks), group.ranks.parallel);
    },
    [](WorkerGroup& group, std::string_view text) {
      return store_count(parse_count("replica", text, 0, kMaxRanks), group.replica);
    },
    [](WorkerGroup& group, std::string_view text) {
      return store_count(parse_count("ports", text, 0, kMaxPorts), group.ranks.request.ports);
    },
    set_failure,
    set_shm,
    set_cpu_limit,
};

// The number of "NAME(number)"; nothing when the text is another.
std::optional<std::uint32_t> number_of(std::string_view text, std::string_view name) {
  if (!text.starts_with(name)) return std::nullopt;
  text = trimmed(text.substr(name.size()));
  if (!text.starts_with('(') || !text.ends_with(')') || text.size() < 3) return std::nullopt;
  const auto number = parse_digits(trimmed(text.substr(1, text.size() - 2)), kMaxRanks);
  if (!number || *number == 0) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

}  // namespace

std::span<const std::string_view> worker_fields() {
  return kWorkerNames;
}

Result<void> set_worker_field(WorkerGroup& group, std::string_view field, std::string_view text) {
  const auto* const found = std::find(kWorkerNames.begin(), kWorkerNames.end(), field);
  if (found == kWorkerNames.end()) {
    return invalid_input("unknown field " + shown(field) + did_you_mean(field, kWorkerNames));
  }
  const auto at = static_cast<std::size_t>(found - kWorkerNames.begin());
  return at < kWorkerSetters.size() ? kWorkerSetters[at](group, text)
                                    : set_as_job(group, field, text);
}

WorkerGroup new_worker_group(const Request& request) {
  WorkerGroup group;
  group.ranks.request = request;
  group.ranks.request.ports = 1;
  return group;
}

Result<FailureRule> parse_failure_rule(std::string_view text) {
  using Rule = FailureRule::Kind;
  const std::string_view rule = trimmed(text);
  if (rule == "failFast") return FailureRule{Rule::kFailFast, 0};
  if (rule == "continue") return FailureRule{Rule::kContinue, 0};
  if (const auto number = number_of(rule, "restartWorker"); number && *number <= kMaxRetries)
    return FailureRule{Rule::kRestart, *number};
  if (const auto number = number_of(rule, "minSucceeded"))
    return FailureRule{Rule::kMinSucceeded, *number};
  constexpr std::array<std::string_view, 4> kExamples = {"failFast", "continue", "restartWorker(3)",
                                                         "minSucceeded(2)"};
  const std::string meant = did_you_mean(rule, kExamples);
  return invalid_input(
      "failure rule " + shown(text) +
      (meant.empty() ? ": write failFast, continue, restartWorker(3) or minSucceeded(2)" : meant));
}

Result<Framework> parse_framework(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Framework>, 3> kOthers = {
      {{"tensorflow", Framework::kTensorflow},
       {"batchjob", Framework::kJobset},
       {"kuberay", Framework::kRay}}};
  std::vector<std::string_view> known;
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(kLastFramework); ++i) {
    known.emplace_back(framework_name(Framework(i)));
    if (known.back() == text) return Framework(i);
  }
  for (const auto& [name, framework] : kOthers) {
    known.push_back(name);
    if (name == text) return framework;
  }
  const std::string meant = did_you_mean(text, known);
  std::string list;
  for (const std::string_view name : known) list += (list.empty() ? "" : ", ") + std::string(name);
  return invalid_input("framework " + shown(text) + " is not known" +
                       (meant.empty() ? "; there are " + list : meant));
}

}  // namespace tutti
