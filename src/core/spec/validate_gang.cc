#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "core/spec/checks.h"
#include "core/spec/gang_env.h"
#include "core/spec/text.h"
#include "core/spec/validate.h"

namespace tutti {
namespace {

constexpr std::size_t kMaxGroupName = 63;
constexpr std::size_t kMaxImageBytes = 255;

std::string called(const WorkerGroup& group) {
  return "workers: " + shown(group.name);
}

Result<void> check_group_name(const WorkerGroup& group) {
  const std::string& name = group.name;
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (!name.empty() && name.size() <= kMaxGroupName && plain) return {};
  return invalid_input("workers: a group's name " + shown(name) + " must have 1 to " +
                       std::to_string(kMaxGroupName) + " letters, digits, '-', '_' and '.'");
}

Result<void> check_failure(const WorkerGroup& group) {
  using Rule = FailureRule::Kind;
  const FailureRule& rule = group.ranks.failure;
  switch (rule.kind) {
    case Rule::kFailFast:
    case Rule::kContinue:
      if (rule.number == 0) return {};
      break;
    case Rule::kRestart:
      if (rule.number >= 1 && rule.number <= kMaxRetries) return {};
      break;
    case Rule::kMinSucceeded:
      if (rule.number >= 1 && rule.number <= group.ranks.count) return {};
      return invalid_input(called(group) + ": minSucceeded(" + std::to_string(rule.number) +
                           "), but it has " + std::to_string(group.ranks.count) + " ranks");
  }
  return invalid_input(called(group) + ": failure " + failure_rule_name(rule) +
                       " has a number that it cannot have");
}

// How often a group of this name was there before decides which replica it is.
Result<void> check_replica(const WorkerGroup& group, Framework framework,
                           std::map<std::string, std::uint32_t>& seen) {
  const bool tensorflow = framework == Framework::kTensorflow;
  const std::string name = tensorflow ? tensorflow_type(group.name) : group.name;
  const std::uint32_t before = seen[name]++;
  if (before > 0 && framework != Framework::kJobset)
    return invalid_input("workers: two groups are called " + shown(name) +
                         (tensorflow ? " by TensorFlow" : "") + "; give each a name of its own");
  if (group.replica == before) return {};
  return invalid_input(called(group) + ": replica is " + std::to_string(group.replica) +
                       "; groups of one name are numbered from 0, and only those of a jobset");
}

Result<void> check_ranks(const WorkerGroup& group, Framework framework) {
  const RankGroup& ranks = group.ranks;
  if (ranks.count < 1) return invalid_input(called(group) + ": count must be at least 1");
  const bool waves = ranks.parallel > 0 && ranks.parallel < ranks.count;
  if (waves && framework != Framework::kJobset && framework != Framework::kNone) {
    return invalid_input(called(group) + ": parallel is less than count, but workers of " +
                         framework_name(framework) + " must run together; drop parallel");
  }
  if (ranks.request.ports > kMaxPorts) {
    return invalid_input(called(group) + ": ports: at most " + std::to_string(kMaxPorts) +
                         " are allowed for each rank");
  }
  return check_request(ranks.request, false);
}

// How many items are shared out is a number.
Result<void> check_shard(const std::vector<std::string>& env) {
  const std::string prefix = std::string(kShardTotal) + "=";
  for (const std::string_view entry : env) {
    if (!entry.starts_with(prefix)) continue;
    const std::string_view total = entry.substr(prefix.size());
    if (!parse_digits(total, kMaxShardTotal))
      return invalid_input("env: " + prefix + shown(total) + " must be a number of items");
  }
  return {};
}

// Others must be able to find a rank that its framework tells them of.
Result<void> check_listener(const WorkerGroup& group, bool first, Framework framework) {
  const bool needed = framework == Framework::kTensorflow ||
                      (first && (framework == Framework::kPytorch || framework == Framework::kJax ||
                                 framework == Framework::kXgboost || framework == Framework::kMpi));
  if (!needed || group.ranks.request.ports > 0) return {};
  return invalid_input(called(group) + ": ports: framework " + framework_name(framework) +
                       " needs one at least; drop ports");
}

Result<void> check_group(const JobSpec& spec, const WorkerGroup& group, std::size_t job_env) {
  if (const auto checked = check_group_name(group); !checked) return checked;
  if (const auto checked = check_ranks(group, spec.gang.framework); !checked) {
    const bool named = checked.error().message.starts_with("workers");
    return named ? checked : invalid_input(called(group) + ": " + checked.error().message);
  }
  if (const auto checked = check_failure(group); !checked) return checked;
  if (!group.command.script.empty() ||
      (!group.command.shell.empty() && !group.command.argv.empty()))
    return invalid_input(called(group) + ": its command is a shell line or a list of words");
  if (group.time_limit.value < 0)
    return invalid_input(called(group) + ": time must not be negative");
  if (group.cpu_limit.value != 0 && group.cpu_limit < group.ranks.request.cpus)
    return invalid_input(called(group) + ": cpu_limit is less than cpus");
  if (group.shared_memory.value < 0)
    return invalid_input(called(group) + ": shm must not be negative");
  if (const auto checked = check_env(group.env); !checked)
    return invalid_input(called(group) + ": " + checked.error().message);
  if (const auto checked = check_shard(group.env); !checked)
    return invalid_input(called(group) + ": " + checked.error().message);
  const bool first = &group == &spec.gang.workers.front();
  const auto listens = check_listener(group, first, spec.gang.framework);
  if (!listens) return listens;
  const Command& command = group.command.empty() ? spec.command : group.command;
  if (command.empty())
    return invalid_input(called(group) + " has no command, and the job has none");
  const auto checked = check_words(command, job_env + env_bytes(group.env));
  return checked ? checked : invalid_input(called(group) + ": " + checked.error().message);
}

Result<void> check_no_gang(const JobSpec& spec) {
  const Gang none;
  if (spec.tasks.shape == TaskSet::Shape::kGang) return invalid_input("a gang needs workers");
  if (spec.gang.framework != none.framework)
    return invalid_input("framework is for jobs with workers; drop it, or write workers");
  if (spec.gang.start_timeout != none.start_timeout)
    return invalid_input("start_timeout is for jobs with workers; drop it, or write workers");
  return {};
}

Result<void> check_shape(const JobSpec& spec, std::uint64_t ranks) {
  if (spec.lease) return invalid_input("a lease has no workers");
  if (!spec.lines.empty() || spec.tasks.shape == TaskSet::Shape::kArray)
    return invalid_input("workers cannot be combined with array and lines; give one of them");
  if (spec.tasks.max_parallel != 0)
    return invalid_input("max_parallel is not for workers; say parallel of a group of them");
  if (ranks > kMaxRanks) {
    return invalid_input("workers: " + std::to_string(ranks) + " in all; at most " +
                         std::to_string(kMaxRanks) + " are allowed");
  }
  const TaskSet& tasks = spec.tasks;
  const bool fits = tasks.shape == TaskSet::Shape::kGang && tasks.count == ranks &&
                    tasks.first == 0 && tasks.step == 1;
  if (!fits) return invalid_input("workers: the job's tasks are not its ranks");
  return {};
}

// A name that no program takes for an option, and that is one word.
Result<void> check_image(const std::string& image) {
  const bool blank = std::any_of(image.begin(), image.end(), [](char c) { return c == ' '; });
  const bool good = !blank && !first_control_character(image) && !first_invalid_utf8(image) &&
                    !image.starts_with('-') && image.size() <= kMaxImageBytes;
  if (good) return {};
  return invalid_input("image " + shown(image) +
                       ": must be a name such as team/train:1, without blanks, not beginning with "
                       "'-', of at most " +
                       std::to_string(kMaxImageBytes) + " bytes");
}

// "HOST:INSIDE" or "HOST:INSIDE:ro", both absolute.
Result<void> check_mount(const std::string& mount) {
  const std::size_t colon = mount.find(':');
  const std::string_view text = mount;
  const std::string_view host = text.substr(0, colon);
  std::string_view inside = colon == mount.npos ? "" : text.substr(colon + 1);
  if (inside.ends_with(":ro")) inside.remove_suffix(3);
  const bool good = host.starts_with('/') && inside.starts_with('/') &&
                    inside.find(':') == inside.npos && inside.find(',') == inside.npos &&
                    host.find(',') == host.npos && !first_control_character(mount);
  if (good) return {};
  return invalid_input("mounts: " + shown(mount) +
                       " must be HOST:INSIDE or HOST:INSIDE:ro, with absolute paths");
}

Result<void> check_build(const ImageBuild& build) {
  if (build == ImageBuild()) return {};
  if (!build.dockerfile.starts_with('/') || !build.context.starts_with('/')) {
    return invalid_input("container: dockerfile " + shown(build.dockerfile) + " and context " +
                         shown(build.context) + " must be absolute paths");
  }
  for (const std::string& text : {build.dockerfile, build.context, build.target}) {
    if (first_control_character(text))
      return invalid_input("container: " + shown(text) + " has a control character");
  }
  if (build.target.starts_with('-'))
    return invalid_input("container: target " + shown(build.target) + " begins with '-'");
  const auto checked = check_env(build.args);
  return checked ? checked : invalid_input("container: args: " + checked.error().message);
}

}  // namespace

Result<void> check_gang(const JobSpec& spec) {
  const auto& workers = spec.gang.workers;
  if (workers.empty()) return check_no_gang(spec);
  std::uint64_t ranks = 0;
  for (const WorkerGroup& group : workers) ranks += group.ranks.count;
  if (const auto checked = check_shape(spec, ranks); !checked) return checked;
  if (spec.gang.start_timeout.value <= 0 || spec.gang.start_timeout > seconds(7 * 86400))
    return invalid_input("start_timeout must be more than zero, and at most a week");
  if (const auto checked = check_shard(spec.env); !checked) return checked;
  std::map<std::string, std::uint32_t> seen;
  const std::size_t job_env = env_bytes(spec.env);
  for (const WorkerGroup& group : workers) {
    if (const auto checked = check_group(spec, group, job_env); !checked) return checked;
    const auto checked = check_replica(group, spec.gang.framework, seen);
    if (!checked) return checked;
  }
  if (spec.gang.framework == Framework::kRay && workers.front().ranks.count != 1)
    return invalid_input("workers: the first group of ray is its head, of one rank");
  return {};
}

Result<void> check_container(const JobSpec& spec) {
  const Container& container = spec.container;
  if (container == Container()) return {};
  if (container.image.empty()) return invalid_input("container needs an image");
  if (spec.lease) return invalid_input("a lease has no container");
  if (const auto checked = check_image(container.image); !checked) return checked;
  const std::string& runtime = container.runtime;
  if (!runtime.empty() && runtime != "podman" && runtime != "docker")
    return invalid_input("container: runtime " + shown(runtime) + ": write podman or docker");
  for (const std::string& mount : container.mounts) {
    if (const auto checked = check_mount(mount); !checked) return checked;
  }
  return check_build(container.build);
}

}  // namespace tutti
