#include "core/spec/validate.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "core/spec/array_range.h"
#include "core/spec/checks.h"
#include "core/spec/log_pattern.h"
#include "core/spec/model_text.h"
#include "core/spec/quantity.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

// What Linux takes for one argument or variable (MAX_ARG_STRLEN, with its NUL), and for all of them
// at the very most.
constexpr std::size_t kMaxArgumentBytes = 131071;
constexpr std::size_t kMaxExecBytes = 6 * 1024 * 1024;
constexpr std::size_t kMaxTextBytes = 16 * 1024 * 1024;

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

bool has_nul(std::string_view text) {
  return text.find('\0') != text.npos;
}

Result<void> check_one_command(const JobSpec& spec) {
  const Command& command = spec.command;
  const int argv = !command.argv.empty() && command.script.empty() ? 1 : 0;
  const int given = argv + (command.shell.empty() ? 0 : 1) + (command.script.empty() ? 0 : 1) +
                    (spec.lines.empty() ? 0 : 1);
  if (given == 0 && spec.lease) return {};
  if (given == 0) return invalid_input("no command; give exactly one of command, script and lines");
  if (given > 1) {
    return invalid_input("more than one command; give exactly one of command, script and lines");
  }
  return {};
}

Result<void> check_text(const std::string& what, std::string_view text) {
  if (has_nul(text)) return invalid_input(what + " has a NUL byte; no shell can take it");
  if (text.size() > kMaxTextBytes) {
    return invalid_input(what + " has " + number(text.size()) + " bytes; at most " +
                         number(kMaxTextBytes) + " are allowed");
  }
  return {};
}

Result<void> check_command(const JobSpec& spec) {
  return check_words(spec.command, env_bytes(spec.env));
}

Result<void> check_lines(const JobSpec& spec) {
  if (spec.lines.size() > kMaxTasks) {
    return invalid_input("lines: " + number(spec.lines.size()) + " commands; at most " +
                         number(kMaxTasks) + " are allowed; split the batch");
  }
  if (!spec.line_numbers.empty() && spec.line_numbers.size() != spec.lines.size()) {
    return invalid_input("line_numbers: " + number(spec.line_numbers.size()) + " numbers for " +
                         number(spec.lines.size()) + " lines; give one for each, or none");
  }
  for (std::size_t i = 0; i < spec.lines.size(); ++i) {
    const std::string& line = spec.lines[i];
    if (line.find_first_not_of(" \t\r\n") == line.npos) {
      return invalid_input("lines: command " + number(i + 1) + " is empty");
    }
    const auto checked = check_text("lines: command " + number(i + 1), line);
    if (!checked) return checked;
  }
  return {};
}

Result<void> check_tasks(const JobSpec& spec) {
  using Shape = TaskSet::Shape;
  const TaskSet& tasks = spec.tasks;
  if (tasks.count < 1) return invalid_input("a job needs at least one task");
  if (tasks.count > kMaxTasks) {
    return invalid_input("array: " + number(tasks.count) + " tasks; at most " + number(kMaxTasks) +
                         " are allowed");
  }
  constexpr std::int64_t kLargest = std::int64_t{1} << 53;
  const bool countable = tasks.first >= 0 && tasks.first <= kLargest && tasks.step >= 1 &&
                         tasks.step <= kLargest / tasks.count;
  if (!countable) return invalid_input("array: its numbers must run from 0 up, below 2^53");
  if ((tasks.shape == Shape::kBatch) != !spec.lines.empty()) {
    return invalid_input("lines and array cannot be combined; give one of them");
  }
  if (tasks.shape == Shape::kBatch && tasks.count != spec.lines.size()) {
    return invalid_input("lines: the number of tasks differs from the number of lines");
  }
  if (tasks.shape == Shape::kSingle && tasks.count != 1) {
    return invalid_input("a job of several tasks needs array or lines");
  }
  return {};
}

// Whether %l is another number for each task.
bool lines_differ(const JobSpec& spec) {
  const auto& numbers = spec.line_numbers;
  return std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) ==
         numbers.end();
}

Result<void> check_pattern(std::string_view field, const std::string& pattern,
                           const JobSpec& spec) {
  const std::string what(field);
  if (pattern.empty()) return {};
  if (has_nul(pattern)) return invalid_input(what + " has a NUL byte; use a file name");
  if (const auto known = check_log_pattern(pattern); !known)
    return invalid_input(what + ": " + known.error().message);
  const bool differs =
      log_pattern_has(pattern, 't') || (log_pattern_has(pattern, 'l') && lines_differ(spec));
  const bool shared = spec.tasks.count > 1 && !differs && pattern != "/dev/null";
  if (!shared) return {};
  return invalid_input(what + " " + shown(pattern) +
                       ": every task would write to the same file; add %t");
}

Result<void> check_environments(const JobSpec& spec) {
  if (const auto checked = check_env(spec.env); !checked) return checked;
  return check_env(spec.remote_env);
}

// Whether the path stays below the folder that it is relative to.
bool stays_below(std::string_view path) {
  if (path.empty() || path.starts_with('/') || has_nul(path)) return false;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    if (path.substr(at, slash - at) == "..") return false;
    at = slash + 1;
  }
  return true;
}

Result<void> check_results(const JobSpec& spec) {
  const ResultRule& results = spec.results;
  if (results.folder.empty() && results.paths.empty()) return {};
  if (!results.folder.starts_with('/')) {
    return invalid_input("results: the folder " + shown(results.folder) +
                         " must be an absolute path");
  }
  if (results.paths.empty()) return invalid_input("results: name at least one path, such as .");
  for (const std::string& path : results.paths) {
    if (stays_below(path)) continue;
    return invalid_input("results: " + shown(path) + " is not below the work directory");
  }
  return check_pattern("results: the folder", results.folder, spec);
}

Result<void> check_place(const JobSpec& spec) {
  if (!spec.workdir.starts_with('/')) {
    return invalid_input("workdir " + shown(spec.workdir) + ": must be an absolute path");
  }
  if (has_nul(spec.workdir)) return invalid_input("workdir has a NUL byte; use a folder's path");
  const bool plain = std::all_of(spec.snapshot.begin(), spec.snapshot.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (!plain || spec.snapshot.size() > 128) {
    return invalid_input("snapshot " + shown(spec.snapshot) +
                         ": must be a digest as the snapshots call returned it");
  }
  return {};
}

Result<void> check_numbers(const JobSpec& spec) {
  if (spec.priority < -kMaxPriority || spec.priority > kMaxPriority) {
    return invalid_input("priority " + std::to_string(spec.priority) +
                         ": must be between -1000000 and 1000000");
  }
  if (spec.time_limit.value < 0) return invalid_input("time must be more than zero");
  if (spec.grace.value < 0 || spec.grace > seconds(86400)) {
    return invalid_input("grace must be between zero and one day");
  }
  if (spec.retry.max > kMaxRetries) {
    return invalid_input("retries " + number(spec.retry.max) + ": at most " + number(kMaxRetries) +
                         " are allowed");
  }
  if (spec.retry.backoff.value < 0 || spec.retry.backoff > seconds(86400)) {
    return invalid_input("backoff must be between zero and one day");
  }
  for (const Dependency& dependency : spec.after) {
    if (dependency.job.value == 0) return invalid_input("after: jobs are numbered from 1");
  }
  return {};
}

Result<void> check_node_limits(const JobSpec& spec) {
  const std::vector<NodeLimit>& limits = spec.node_limits;
  if (!limits.empty() && !spec.gang.workers.empty())
    return invalid_input("node_limits: workers that start together have none; use labels");
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const auto named = check_name("node_limits: a node", limits[i].node);
    if (!named) return named;
    if (limits[i].tasks == 0) {
      return invalid_input("node_limits: " + shown(limits[i].node) +
                           " must get at least one task; leave it out of the labels instead");
    }
    if (i > 0 && limits[i - 1].node >= limits[i].node) {
      return invalid_input("node_limits: " + shown(limits[i].node) + " stands twice, or unsorted");
    }
  }
  return {};
}

Result<void> check_configured(const JobSpec& spec) {
  const Request& request = spec.request;
  if (spec.model != ModelRun()) {
    if (const auto checked = check_model_run(spec.model); !checked) return checked;
  }
  if (request.configurations.empty()) return {};
  if (!spec.gang.workers.empty())
    return invalid_input("configurations: workers that start together have none; give them gpus");
  if (const auto checked = check_configurations(request.configurations); !checked)
    return invalid_input("configurations: " + checked.error().message);
  const Configuration stated{request.devices.type, request.devices.count};
  if (stated != request.configurations.front())
    return invalid_input("configurations: gpus must be those of the first");
  return {};
}

}  // namespace

Result<void> check_name(std::string_view field, std::string_view name) {
  const std::string what(field);
  if (name.empty()) return invalid_input(what + " is empty; give it at least one character");
  if (name.size() > kMaxNameBytes) {
    return invalid_input(what + " has " + number(name.size()) + " bytes; at most " +
                         number(kMaxNameBytes) + " are allowed");
  }
  if (const auto at = first_control_character(name)) {
    const char c = name[*at];
    const char* const kind = c == '\n'   ? "a newline"
                             : c == '\0' ? "a NUL byte"
                                         : "a control "
                                           "character";
    return invalid_input(what + " has " + kind + " at byte " + number(*at) +
                         "; use printable characters");
  }
  if (const auto at = first_invalid_utf8(name)) {
    return invalid_input(what + " is not valid UTF-8 at byte " + number(*at) + "; use UTF-8 text");
  }
  return {};
}

Result<void> check_argument(const std::string& what, std::string_view text) {
  if (has_nul(text)) return invalid_input(what + " has a NUL byte; no program can take it");
  if (text.size() > kMaxArgumentBytes) {
    return invalid_input(what + " has " + number(text.size()) + " bytes; Linux takes at most " +
                         number(kMaxArgumentBytes) + "; pass it in a file");
  }
  return {};
}

Result<void> check_words(const Command& command, std::size_t env_bytes) {
  std::size_t total = env_bytes;
  for (std::size_t i = 0; i < command.argv.size(); ++i) {
    const auto checked = check_argument("command: argument " + number(i), command.argv[i]);
    if (!checked) return checked;
    total += command.argv[i].size() + 1;
  }
  if (command.script.empty() && !command.argv.empty() && command.argv[0].empty()) {
    return invalid_input("command: the program's name is empty");
  }
  if (total > kMaxExecBytes) {
    return invalid_input("command and env have " + number(total) + " bytes; Linux takes at most " +
                         number(kMaxExecBytes) + "; pass large values in a file");
  }
  if (const auto checked = check_text("command", command.shell); !checked) return checked;
  return check_text("script", command.script);
}

Result<void> check_env(const std::vector<std::string>& env) {
  for (const std::string& entry : env) {
    const std::size_t equals = entry.find('=');
    if (equals == entry.npos || equals == 0) {
      return invalid_input("env " + shown(entry) + ": write NAME=value");
    }
    const auto checked =
        check_argument("env " + entry.substr(0, std::min<std::size_t>(equals, 60)), entry);
    if (!checked) return checked;
  }
  return {};
}

std::size_t env_bytes(const std::vector<std::string>& env) {
  std::size_t total = 0;
  for (const std::string& entry : env) total += entry.size() + 1;
  return total;
}

Result<void> check_request(const Request& request, bool lease) {
  if (request.cpus.value < 0 || (request.cpus.value == 0 && !lease)) {
    return invalid_input("cpus must be more than zero");
  }
  if (request.memory.value < 0) return invalid_input("mem must not be negative");
  const DeviceRequest& devices = request.devices;
  if (devices.memory.value < 0) return invalid_input("gpu_mem must not be negative");
  if (devices.share.value < 0 || devices.share.value > 1000) {
    return invalid_input("gpu_util must be between 0 and 1");
  }
  const DeviceRequest defaults;
  if (devices.count == 0 && devices != defaults) {
    return invalid_input("gpus is 0, but something is said about GPUs; drop one of them");
  }
  if (!devices.type.empty()) {
    if (const auto named = check_name("gpus: the type", devices.type); !named) return named;
  }
  for (const std::string& label : request.labels) {
    for (std::string_view rest = label;;) {
      const std::size_t bar = rest.find('|');
      const auto named = check_name("labels: a label", std::string(rest.substr(0, bar)));
      if (!named) return named;
      if (bar == rest.npos) break;
      rest.remove_prefix(bar + 1);
    }
  }
  return {};
}

Result<void> validate(const JobSpec& spec) {
  constexpr auto kChecks =
      std::array{check_gang,    check_one_command,  check_command,     check_lines,
                 check_tasks,   check_environments, check_results,     check_place,
                 check_numbers, check_container,    check_node_limits, check_configured};
  for (const auto check : kChecks) {
    if (const Result<void> checked = check(spec); !checked) return checked;
  }
  const std::array<std::pair<std::string_view, std::string_view>, 3> names = {
      {{"name", spec.name}, {"project", spec.project}, {"kind", spec.kind}}};
  for (const auto& [field, name] : names) {
    if (const Result<void> checked = check_name(field, name); !checked) return checked;
  }
  if (const auto checked = check_request(spec.request, spec.lease); !checked) return checked;
  const auto output = check_pattern("output", spec.stdout_pattern, spec);
  return output ? check_pattern("error", spec.stderr_pattern, spec) : output;
}

}  // namespace tutti
