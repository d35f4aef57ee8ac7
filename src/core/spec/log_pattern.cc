#include "core/spec/log_pattern.h"

#include <algorithm>

#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::string_view kMarks = "jtanul%";

// Calls `plain(char)` and `mark(char)` for what the pattern consists of; a % at the end is mark 0.
template <typename Plain, typename Mark>
void walk(std::string_view pattern, Plain plain, Mark mark) {
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%') {
      plain(pattern[at]);
    } else {
      ++at;
      mark(at < pattern.size() ? pattern[at] : '\0');
    }
  }
}

std::string as_file_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name == "." || name == ".." ? "_" : name;
}

std::string replacement(char mark, const LogNames& names) {
  switch (mark) {
    case 'j':
      return names.job;
    case 't':
      return names.task;
    case 'a':
      return names.attempt;
    case 'n':
      return as_file_name(names.name);
    case 'u':
      return as_file_name(names.user);
    case 'l':
      return names.line;
    case '%':
      return "%";
    case '\0':
      return "%";
    default:
      return std::string("%") + mark;
  }
}

}  // namespace

Result<void> check_log_pattern(std::string_view pattern) {
  char unknown = 'j';
  bool bad = false;
  walk(
      pattern, [](char) {},
      [&](char mark) {
        if (bad || kMarks.find(mark) != kMarks.npos) return;
        bad = true;
        unknown = mark;
      });
  if (!bad) return {};
  const std::string mark = unknown == '\0' ? "%" : std::string("%") + unknown;
  return invalid_input(
      "pattern " + shown(pattern) + ": " + shown(mark) +
      " is unknown; known are %j job id, %t task, %l line, %a attempt, %n name, %u user and "
      "%% for a percent sign");
}

bool log_pattern_has(std::string_view pattern, char mark) {
  bool found = false;
  walk(
      pattern, [](char) {}, [&](char c) { found = found || c == mark; });
  return found;
}

std::string expand_log_pattern(std::string_view pattern, const LogNames& names) {
  std::string out;
  walk(
      pattern, [&](char c) { out += c; }, [&](char mark) { out += replacement(mark, names); });
  return out;
}

}  // namespace tutti
