#include "cli/environment.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "core/spec/text.h"

extern char** environ;

namespace tutti {
namespace {

constexpr std::string_view kKept[] = {"PATH", "HOME", "USER", "SHELL", "LANG", "TERM", "TMPDIR"};

// It can only be read by setting it.
mode_t current_umask() {
  const mode_t mask = ::umask(077);
  ::umask(mask);
  return mask;
}

}  // namespace

std::string_view variable_name(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

Environment Environment::of_process(bool clean) {
  Environment environment;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view variable(*at);
    const std::string_view name = variable_name(variable);
    if (name.empty() || name.size() == variable.size()) continue;
    if (clean && std::find(std::begin(kKept), std::end(kKept), name) == std::end(kKept)) continue;
    environment.variables_.emplace_back(variable);
  }
  environment.set("TUTTI_UMASK", fmt::format("TUTTI_UMASK={:04o}", current_umask()));
  return environment;
}

Result<void> Environment::apply(std::string_view setting) {
  const std::string name(variable_name(setting));
  if (name.empty()) {
    return invalid_input("env: " + shown(setting) + " is not of the form NAME=VALUE");
  }
  if (name.size() < setting.size()) {
    set(name, std::string(setting));
    return {};
  }
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) {
    return invalid_input("env: the variable " + shown(name) + " is not set here; write NAME=VALUE");
  }
  set(name, name + "=" + value);
  return {};
}

void Environment::set(std::string_view name, std::string variable) {
  for (std::string& present : variables_) {
    if (variable_name(present) != name) continue;
    present = std::move(variable);
    return;
  }
  variables_.push_back(std::move(variable));
}

}  // namespace tutti
