#include "telemetry/process_stat.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "base/unique_fd.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::size_t kShownCommand = 120;
// Environments may be large; this is more than the kernel's usual limit.
constexpr std::size_t kMostBytes = std::size_t{4} << 20;

std::string proc_path(std::int64_t pid, const char* name) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%lld/%s", static_cast<long long>(pid), name);
  return path.data();
}

std::string read_proc(std::int64_t pid, const char* name, std::size_t most) {
  const UniqueFd fd(open(proc_path(pid, name).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!fd) return text;
  std::array<char, 4096> part{};
  for (ssize_t n = 0; text.size() < most && (n = read(fd.get(), part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(n));
  }
  return text;
}

template <typename Number>
bool number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

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

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  // The name, in brackets, may hold anything, also brackets.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return {};
  text.remove_prefix(name_end + 1);
  ProcessStat stat;
  bool good = true;
  int field = 2;
  while (good && field < 22) {
    text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(" \n"));
    if (word.empty()) return {};
    text.remove_prefix(word.size());
    ++field;
    if (field == 4) good = number(word, stat.parent);
    if (field == 6) good = number(word, stat.session);
    if (field == 22) good = number(word, stat.start_ticks);
  }
  if (!good) return {};
  return stat;
}

std::optional<ProcessStat> process_stat(std::int64_t pid) {
  return parse_process_stat(read_proc(pid, "stat", 4096));
}

std::string process_environment(std::int64_t pid) {
  return read_proc(pid, "environ", kMostBytes);
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
  if (stat(proc_path(pid, "").c_str(), &folder) != 0) return {};
  ProcessDescription described{user_name(folder.st_uid), {}};
  described.command = shown_command(read_proc(pid, "cmdline", 4 * kShownCommand));
  if (described.command.empty()) {
    described.command = "[" + shown_command(read_proc(pid, "comm", 64)) + "]";
  }
  return described;
}

}  // namespace tutti
