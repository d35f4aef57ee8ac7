#include "base/process_stat.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "base/unique_fd.h"

namespace tutti {
namespace {

template <typename Number>
bool number(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string read_proc(std::int64_t pid, const char* name, std::size_t most) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%lld/%s", static_cast<long long>(pid), name);
  const UniqueFd fd(open(path.data(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!fd) return text;
  std::array<char, 4096> part{};
  for (ssize_t n = 0; text.size() < most && (n = read(fd.get(), part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(n));
  }
  return text;
}

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
    if (field == 3) stat.state = word.front();
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

}  // namespace tutti
