#include "telemetry/process_words.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/process_stat.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::size_t kShownCommand = 120;
// Environments may be large; this is more than the kernel's usual limit.
constexpr std::size_t kMostEnvironmentBytes = std::size_t{4} << 20;

std::string user_name(uid_t uid) {
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, room.data(), room.size(), &found) == 0 && found != nullptr) {
    return shown_command(found->pw_name);
  }
  return std::to_string(uid);
}

}  // namespace

std::string process_environment(std::int64_t pid) {
  return read_proc(pid, "environ", kMostEnvironmentBytes);
}

bool has_variables(std::string_view environment, const std::vector<std::string>& variables) {
  std::size_t matched = 0;
  while (!environment.empty() && matched < variables.size()) {
    const std::string_view one = environment.substr(0, environment.find('\0'));
    if (std::find(variables.begin(), variables.end(), one) != variables.end()) ++matched;
    environment.remove_prefix(std::min(one.size() + 1, environment.size()));
  }
  return !variables.empty() && matched == variables.size();
}

std::string shown_command(std::string_view command_line) {
  std::string out;
  for (const char c : command_line.substr(0, 4 * kShownCommand)) {
    out += static_cast<unsigned char>(c) < ' ' || c == 127 ? ' ' : c;
  }
  while (const auto bad = first_invalid_utf8(out)) out[*bad] = '?';
  const std::size_t last = out.find_last_not_of(' ');
  out.resize(last == std::string::npos ? 0 : last + 1);
  out.erase(0, std::min(out.find_first_not_of(' '), out.size()));
  if (out.size() <= kShownCommand) return out;
  std::size_t end = kShownCommand - 3;
  // Not in the middle of a character.
  while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0) == 0x80) --end;
  return out.substr(0, end) + "...";
}

ProcessDescription describe_process(std::int64_t pid) {
  struct stat folder {};
  if (stat(("/proc/" + std::to_string(pid)).c_str(), &folder) != 0) return {};
  ProcessDescription described{user_name(folder.st_uid), {}};
  described.command = shown_command(read_proc(pid, "cmdline", 4 * kShownCommand));
  if (described.command.empty()) {
    described.command = "[" + shown_command(read_proc(pid, "comm", 64)) + "]";
  }
  return described;
}

}  // namespace tutti
