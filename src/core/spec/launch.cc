#include "core/spec/launch.h"

#include <algorithm>
#include <cstddef>

#include "core/spec/command_line.h"
#include "core/spec/container.h"
#include "core/spec/log_pattern.h"
#include "core/spec/quantity.h"
#include "core/spec/rank_programs.h"
#include "core/spec/script.h"

namespace tutti {
namespace {

constexpr std::string_view kShell = "/bin/bash";
// Linux takes at most 128 KiB in one argument; longer text goes through a file.
constexpr std::size_t kLongestArgument = 100'000;

void set_rank_program(Launch& launch, Framework framework, const Allocation& allocation) {
  launch.argv = rank_argv(framework, launch.argv);
  if (!allocation.ports.empty()) launch.cleanup = rank_cleanup(framework, allocation.ports.front());
}

// Whether the submitter's environment carries a bash function of this name (`export -f`): then only
// bash can run it.
bool is_exported_function(const std::vector<std::string>& env, std::string_view name) {
  constexpr std::string_view kPrefix = "BASH_FUNC_";
  return std::any_of(env.begin(), env.end(), [&](std::string_view entry) {
    if (!entry.starts_with(kPrefix)) return false;
    entry.remove_prefix(kPrefix.size());
    return entry.starts_with(name) && entry.substr(name.size()).starts_with("%%=");
  });
}

void set_shell(Launch& launch, const std::string& text) {
  if (text.size() > kLongestArgument) {
    launch.argv = {std::string(kShell), std::string(kScriptPlaceholder)};
    launch.script_text = text;
  } else {
    launch.argv = {std::string(kShell), "-c", text};
  }
}

void set_line(Launch& launch, const std::vector<std::string>& env, const std::string& line) {
  if (line.size() <= kLongestArgument) {
    Command command = command_of_line(line);
    if (!command.argv.empty() && !is_exported_function(env, command.argv[0])) {
      launch.argv = std::move(command.argv);
      return;
    }
  }
  set_shell(launch, line);
}

void set_script(Launch& launch, const Command& command) {
  launch.script_text = command.script;
  if (!has_shebang(command.script)) launch.argv.emplace_back(kShell);
  launch.argv.emplace_back(kScriptPlaceholder);
  if (!command.argv.empty()) {
    launch.argv.insert(launch.argv.end(), command.argv.begin() + 1, command.argv.end());
  }
}

const Command& command_of(const JobSpec& spec, std::uint32_t index) {
  if (spec.gang.workers.empty()) return spec.command;
  const Command& own = workers_of_rank(spec.gang, index).command;
  return own.empty() ? spec.command : own;
}

void set_command(Launch& launch, const JobSpec& spec, std::uint32_t index,
                 const std::string& line) {
  const Command& command = command_of(spec, index);
  if (spec.tasks.shape == TaskSet::Shape::kBatch) {
    set_line(launch, spec.env, line);
  } else if (!command.script.empty()) {
    set_script(launch, command);
  } else if (!command.argv.empty()) {
    launch.argv = command.argv;
  } else {
    set_line(launch, spec.env, command.shell);
  }
}

const Device* device_of(const Node& node, DeviceId id) {
  const auto found = std::find_if(node.devices.begin(), node.devices.end(),
                                  [&](const Device& device) { return device.id == id; });
  return found == node.devices.end() ? nullptr : &*found;
}

// UUIDs, which mean the same device in any order of enumeration; numbers where one has none.
std::string visible_devices(const Allocation& allocation, const Node& node) {
  const auto uuid_of = [&](const DeviceGrant& grant) {
    const Device* const device = device_of(node, grant.id);
    return device == nullptr ? std::string() : device->uuid;
  };
  const bool by_uuid =
      std::all_of(allocation.devices.begin(), allocation.devices.end(),
                  [&](const DeviceGrant& grant) { return !uuid_of(grant).empty(); });
  std::string out;
  for (const DeviceGrant& grant : allocation.devices) {
    if (!out.empty()) out += ',';
    out += by_uuid ? uuid_of(grant) : std::to_string(grant.id.value);
  }
  return out;
}

void add_devices(std::vector<std::string>& env, const Allocation& allocation, const Node& node) {
  if (!allocation.devices.empty()) {
    for (std::string& entry : device_environment(allocation, node)) env.push_back(std::move(entry));
  } else if (!node.devices.empty()) {
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"})
      env.push_back(std::string(name) + "=");
  }
}

std::vector<std::string> environment(JobId job, const JobSpec& spec, AttemptId attempt,
                                     const Allocation& allocation, const Node& node) {
  const std::string label = std::to_string(spec.tasks.label(attempt.task.index));
  const std::string index = std::to_string(attempt.task.index);
  const std::string count = std::to_string(spec.tasks.count);
  std::vector<std::string> env = {
      "TUTTI_JOB_ID=" + std::to_string(job.value),
      "TUTTI_JOB_NAME=" + spec.name,
      "TUTTI_PROJECT=" + spec.project,
      "TUTTI_TASK=" + label,
      "TUTTI_TASK_INDEX=" + index,
      "TUTTI_TASK_COUNT=" + count,
      "TUTTI_RANK=" + index,
      "TUTTI_WORLD_SIZE=" + count,
      "TUTTI_ATTEMPT=" + std::to_string(attempt.number),
      "TUTTI_NODE=" + node.name,
      "TUTTI_CPUS=" + format_cpus(allocation.cpus),
      "TUTTI_MEMORY_MIB=" + std::to_string(allocation.memory.value),
  };
  if (!allocation.ports.empty()) {
    std::string ports;
    for (const std::uint32_t port : allocation.ports)
      ports += (ports.empty() ? "" : ",") + std::to_string(port);
    env.push_back("TUTTI_PORTS=" + ports);
  }
  if (spec.tasks.shape == TaskSet::Shape::kArray) env.push_back("TUTTI_ARRAY_INDEX=" + label);
  add_devices(env, allocation, node);
  return env;
}

std::string default_log_path(JobId job, const TaskSet& tasks, AttemptId attempt, LogStream stream) {
  const std::string id = std::to_string(job.value);
  std::string path = std::to_string(job.value / 1000) + "/" + id;
  if (tasks.shape != TaskSet::Shape::kSingle) {
    path += "/" + std::to_string(tasks.label(attempt.task.index));
  }
  if (attempt.number > 1) path += ".a" + std::to_string(attempt.number);
  return path + (stream == LogStream::kStdout ? ".out" : ".err");
}

LogNames names_of(JobId job, const JobSpec& spec, AttemptId attempt) {
  LogNames names;
  names.job = std::to_string(job.value);
  names.task = std::to_string(spec.tasks.label(attempt.task.index));
  names.attempt = std::to_string(attempt.number);
  names.name = spec.name;
  names.user = spec.user;
  const bool numbered = attempt.task.index < spec.line_numbers.size();
  names.line = numbered ? std::to_string(spec.line_numbers[attempt.task.index]) : names.task;
  return names;
}

}  // namespace

std::vector<std::string> device_environment(const Allocation& allocation, const Node& node) {
  const Device* const first =
      allocation.devices.empty() ? nullptr : device_of(node, allocation.devices.front().id);
  const std::string visible = visible_devices(allocation, node);
  std::vector<std::string> env;
  if (first != nullptr && first->amd) {
    // HIP numbers what ROCr lets it see.
    std::string numbers;
    for (std::size_t i = 0; i < allocation.devices.size(); ++i)
      numbers += (i == 0 ? "" : ",") + std::to_string(i);
    env = {"ROCR_VISIBLE_DEVICES=" + visible, "HIP_VISIBLE_DEVICES=" + numbers,
           "CUDA_VISIBLE_DEVICES=" + numbers};
  } else {
    env = {"CUDA_VISIBLE_DEVICES=" + visible, "CUDA_DEVICE_ORDER=PCI_BUS_ID",
           "NVIDIA_VISIBLE_DEVICES=" + visible};
  }
  if (first != nullptr && !first->emulation.empty())
    env.push_back("TUTTI_EMULATED_GPUS=" + first->emulation);
  if (!allocation.devices.empty())
    env.push_back("TUTTI_GPU_MEMORY_MIB=" +
                  std::to_string(allocation.devices.front().memory.value));
  return env;
}

Limits limits_of(const JobSpec& spec, const WorkerGroup* workers) {
  const Request& request = workers == nullptr ? spec.request : workers->ranks.request;
  Limits limits;
  if (request.limit_memory) limits.memory = request.memory;
  if (request.limit_cpus) limits.cpus = request.cpus;
  if (workers != nullptr && workers->cpu_limit.value > 0) limits.cpus = workers->cpu_limit;
  return limits;
}

LaunchContext context_of(JobId job, const JobSpec& spec, std::size_t group) {
  LaunchContext context;
  context.job = job;
  context.workdir = spec.workdir;
  context.env = spec.env;
  context.remote_env = spec.remote_env;
  context.snapshot = spec.snapshot;
  context.time_limit = spec.time_limit;
  context.grace = spec.grace;
  context.lease = spec.lease;
  context.holder_pid = spec.holder_pid;
  context.holder_birth = spec.holder_birth;
  if (!spec.gang.workers.empty()) {
    const WorkerGroup& workers = spec.gang.workers.at(group);
    if (workers.time_limit.value > 0) context.time_limit = workers.time_limit;
    context.group = static_cast<std::uint32_t>(group);
    context.start_timeout = spec.gang.start_timeout;
  }
  // The runtime limits what is in the container. It may itself need more than the job was given.
  if (spec.container.image.empty()) {
    const auto& workers = spec.gang.workers;
    context.limits = limits_of(spec, workers.empty() ? nullptr : &workers[group]);
  }
  return context;
}

Launch launch_of(JobId job, const JobSpec& spec, AttemptId attempt, const std::string& line,
                 const Allocation& allocation, const Node& node, const GangPlaces& places) {
  Launch launch;
  if (spec.lease) {
    launch.env = device_environment(allocation, node);
    return launch;
  }
  set_command(launch, spec, attempt.task.index, line);
  if (has_rank_program(spec.gang.framework))
    set_rank_program(launch, spec.gang.framework, allocation);
  launch.env = environment(job, spec, attempt, allocation, node);
  if (!spec.gang.workers.empty()) {
    for (std::string& entry : gang_environment(job, spec, attempt.task.index, places))
      launch.env.push_back(std::move(entry));
    const std::vector<std::string>& own = workers_of_rank(spec.gang, attempt.task.index).env;
    launch.env.insert(launch.env.end(), own.begin(), own.end());
  }
  launch.stdout_path = log_path(job, spec, attempt, LogStream::kStdout);
  launch.stderr_path = log_path(job, spec, attempt, LogStream::kStderr);
  if (!spec.results.folder.empty()) {
    launch.result_folder = expand_log_pattern(spec.results.folder, names_of(job, spec, attempt));
    launch.result_paths = spec.results.paths;
  }
  if (!spec.container.image.empty()) put_in_container(launch, job, spec, attempt, allocation, node);
  return launch;
}

std::string log_path(JobId job, const JobSpec& spec, AttemptId attempt, LogStream stream) {
  const bool own_stderr = stream == LogStream::kStderr && !spec.stderr_pattern.empty();
  const std::string& pattern = own_stderr ? spec.stderr_pattern : spec.stdout_pattern;
  if (pattern.empty()) return default_log_path(job, spec.tasks, attempt, stream);
  const std::string path = expand_log_pattern(pattern, names_of(job, spec, attempt));
  return path.starts_with('/') ? path : spec.workdir + "/" + path;
}

}  // namespace tutti
