#include "cli/machines/machines.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "cli/read_text.h"
#include "core/spec/machine.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestFile = 64 * 1024;

bool looks_like_file(const std::string& word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.find('/') != std::string::npos;
}

// A file may be called what a node may not.
std::string node_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return c <= ' ' || c == 0x7f || std::strchr(",|/%", c) != nullptr; },
      '-');
  return name;
}

bool is_file(const std::string& path) {
  std::error_code failure;
  return fs::is_regular_file(path, failure);
}

Result<NamedMachine> machine_in(const std::string& word, const std::string& path,
                                const std::string& home) {
  auto text = read_text(path, kLargestFile);
  if (!text) return text.error();
  const auto file = parse_machine_file(*text, path);
  if (!file) return file.error();
  NamedMachine machine{
      word, node_name(fs::path(path).stem().string()), format_machine_address(file->address), {}};
  if (file->key_path.empty()) return machine;
  auto key = key_file(file->key_path, home);
  if (!key) return Error{key.error().code, path + ": " + key.error().message};
  machine.key = *std::move(key);
  return machine;
}

// Nothing: there is no such file.
Result<std::optional<NamedMachine>> machine_file(const std::string& word, const std::string& home) {
  const std::string kept = home + "/.local/var/" + word;
  for (const std::string& path : {word, word + ".yaml", kept, kept + ".yaml"}) {
    if (!is_file(path)) continue;
    auto machine = machine_in(word, path, home);
    // A host may have the name of a file that is something else.
    if (!machine && path == word && !looks_like_file(word)) continue;
    if (!machine) return machine.error();
    return {*std::move(machine)};
  }
  return {std::nullopt};
}

}  // namespace

std::string user_home() {
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : home;
}

Result<std::string> key_file(const std::string& path, const std::string& home) {
  const std::string expanded = path.starts_with("~/") ? home + path.substr(1) : path;
  std::error_code failure;
  const std::string whole = fs::absolute(expanded, failure).lexically_normal().string();
  if (failure || ::access(whole.c_str(), R_OK) != 0) {
    return io_error("cannot read the key " + shown(path), failure ? failure.value() : errno);
  }
  return whole;
}

Result<std::vector<NamedMachine>> find_machines(const std::string& word, const std::string& home) {
  auto file = machine_file(word, home);
  if (!file) return file.error();
  if (*file) return std::vector<NamedMachine>{**std::move(file)};
  if (looks_like_file(word) && !word.starts_with("ssh://")) {
    return not_found("there is no machine file " + shown(word) + ", neither here nor in " + home +
                     "/.local/var");
  }
  const auto names = expand_machines(word);
  if (!names) return names.error();
  std::vector<NamedMachine> machines;
  for (const std::string& one : *names) {
    const auto address = parse_machine_address(one);
    if (!address) return address.error();
    machines.push_back({one, machine_name(*address), format_machine_address(*address), {}});
  }
  return machines;
}

}  // namespace tutti
