#include "core/spec/container.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/spec/container_script.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

// Taken where there is no bash in the image: what a shell's line needs is most often in both.
constexpr char kPickShell[] =
    "if [ -x /bin/bash ]; then exec /bin/bash \"$@\"; fi; exec /bin/sh \"$@\"";

// Variables that runtimes themselves act on: the container's must not reach them.
constexpr std::array<std::string_view, 8> kOfRuntimes = {
    "PATH",        "HOME",       "TMPDIR",         "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
    "DOCKER_HOST", "LD_PRELOAD", "LD_LIBRARY_PATH"};

std::string_view variable_name(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool concerns_runtimes(std::string_view name) {
  return name.starts_with("CONTAINERS_") ||
         std::find(kOfRuntimes.begin(), kOfRuntimes.end(), name) != kOfRuntimes.end();
}

void mix_in(std::uint64_t& hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  hash = (hash ^ 0xffu) * 1099511628211u;
}

std::string hex_digits(std::uint64_t number, int digits) {
  std::string text;
  for (int i = 0; i < digits; ++i) text += "0123456789abcdef"[(number >> (60 - 4 * i)) & 15];
  return text;
}

std::vector<std::string> shell_words() {
  return {"/bin/sh", "-c", kContainerScript, "tutti-container"};
}

const WorkerGroup* group_of_attempt(const JobSpec& spec, AttemptId attempt) {
  if (spec.gang.workers.empty()) return nullptr;
  return &workers_of_rank(spec.gang, attempt.task.index);
}

// Vendor, devices by the names their driver gives them, and their numbers.
std::array<std::string, 3> devices_of(const Allocation& allocation, const Node& node) {
  std::array<std::string, 3> words;
  for (const DeviceGrant& grant : allocation.devices) {
    const auto device = std::find_if(node.devices.begin(), node.devices.end(),
                                     [&](const Device& one) { return one.id == grant.id; });
    // An emulated one is known to the libraries of this machine alone.
    if (device == node.devices.end() || !device->emulation.empty()) continue;
    const std::string number = std::to_string(grant.id.value);
    words[0] = device->amd ? "amd" : "nvidia";
    words[1] += (words[1].empty() ? "" : ",") + (device->uuid.empty() ? number : device->uuid);
    words[2] += (words[2].empty() ? "" : " ") + number;
  }
  return words;
}

// Values go through the environment of the runtime, where other users do not see them.
void add_environment(Launch& launch, const JobSpec& spec, std::vector<std::string>& words) {
  std::vector<std::string> variables = spec.remote_env;
  variables.insert(variables.end(), launch.env.begin(), launch.env.end());
  launch.env.clear();
  for (std::string& variable : variables) {
    const std::string_view name = variable_name(variable);
    words.emplace_back("--env");
    if (concerns_runtimes(name)) {
      words.push_back(variable);
    } else {
      words.emplace_back(name);
      launch.env.push_back(std::move(variable));
    }
  }
}

void add_command(const Launch& launch, std::vector<std::string>& words) {
  auto word = launch.argv.begin();
  if (word != launch.argv.end() && *word == "/bin/bash") {
    words.insert(words.end(), {"/bin/sh", "-c", kPickShell, "sh"});
    ++word;
  }
  bool script_left = !launch.script_text.empty();
  for (; word != launch.argv.end(); ++word) {
    const bool script = script_left && *word == kScriptPlaceholder;
    script_left = script_left && !script;
    words.push_back(script ? kScriptInside : *word);
  }
}

// Where the context is below the work directory, which is what other machines are sent; empty: it
// is not below.
std::string below(const std::string& folder, const std::string& path) {
  if (folder.empty() || path.empty()) return {};
  if (path == folder) return ".";
  return path.starts_with(folder + "/") ? path.substr(folder.size() + 1) : "";
}

}  // namespace

std::string container_name(JobId job, const JobSpec& spec, AttemptId attempt) {
  std::uint64_t hash = 14695981039346656037u;
  mix_in(hash, spec.user);
  mix_in(hash, spec.workdir);
  for (const std::string& variable : spec.env) mix_in(hash, variable);
  return "tutti-" + hex_digits(hash, 12) + "-" + std::to_string(job.value) + "-" +
         std::to_string(attempt.task.index) + "-" + std::to_string(attempt.number);
}

void put_in_container(Launch& launch, JobId job, const JobSpec& spec, AttemptId attempt,
                      const Allocation& allocation, const Node& node) {
  const Container& container = spec.container;
  const ImageBuild& build = container.build;
  const WorkerGroup* const workers = group_of_attempt(spec, attempt);
  const Limits limits = limits_of(spec, workers);
  const std::string name = container_name(job, spec, attempt);
  const std::array<std::string, 3> devices = devices_of(allocation, node);
  const bool builds = !build.dockerfile.empty();

  std::vector<std::string> words = shell_words();
  words.insert(
      words.end(),
      {"run", name, node.name, container.runtime, container.image,
       limits.cpus.value > 0 ? format_cpus(limits.cpus) : "",
       limits.memory.value > 0 ? std::to_string(limits.memory.value) : "", devices[0], devices[1],
       devices[2], launch.script_text.empty() ? "" : kScriptPlaceholder, builds ? "1" : "0",
       build.dockerfile, build.context, below(spec.workdir, build.context), build.target,
       std::to_string(build.args.size())});
  words.insert(words.end(), build.args.begin(), build.args.end());
  if (workers != nullptr && workers->shared_memory.value > 0)
    words.insert(words.end(), {"--shm-size", std::to_string(workers->shared_memory.value) + "m"});
  for (const std::string& mount : container.mounts) words.insert(words.end(), {"--volume", mount});
  add_environment(launch, spec, words);
  // The command is the whole command: an image's own beginning of it is not wanted.
  words.insert(words.end(), {"--entrypoint", "", container.image});
  add_command(launch, words);
  launch.argv = std::move(words);

  launch.cleanup = shell_words();
  launch.cleanup.insert(launch.cleanup.end(), {"remove", node.name, container.runtime, name});
}

Command build_command(const Container& container) {
  const ImageBuild& build = container.build;
  Command command;
  // A script, because its text is not shown where a command is.
  command.script = std::string("#!/bin/sh\n") + kContainerScript;
  command.argv = {"tutti-container", "build",          "this machine", container.runtime,
                  container.image,   build.dockerfile, build.context,  build.target};
  command.argv.insert(command.argv.end(), build.args.begin(), build.args.end());
  return command;
}

std::string as_gitignore(const std::string& dockerignore) {
  std::string rules;
  std::string_view rest = dockerignore;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == line.npos || line[first] == '#') continue;
    line = line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
    const bool back = line.starts_with('!');
    if (back) line.remove_prefix(1);
    while (line.starts_with("./") || line.starts_with('/'))
      line.remove_prefix(line[0] == '/' ? 1 : 2);
    while (line.ends_with('/')) line.remove_suffix(1);
    if (line.empty() || line == ".") continue;
    rules += std::string(back ? "!/" : "/") + std::string(line) + "\n";
  }
  return rules;
}

std::string built_image_name(const std::string& image, const std::string& digest) {
  std::string_view name = image;
  name = name.substr(0, name.find('@'));
  name = name.substr(name.rfind('/') + 1);
  name = name.substr(0, name.find(':'));
  return "tutti/" + std::string(name) + ":" + digest;
}

}  // namespace tutti
