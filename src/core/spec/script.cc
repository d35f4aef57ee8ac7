#include "core/spec/script.h"

#include "core/spec/command_line.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::string_view kMark = "#TUTTI";

bool is_directive(std::string_view line) {
  if (!line.starts_with(kMark)) return false;
  return line.size() == kMark.size() || line[kMark.size()] == ' ' || line[kMark.size()] == '\t';
}

Result<Directive> parse_directive(std::string_view line, std::uint32_t number) {
  const std::string where = "line " + std::to_string(number) + ": ";
  Result<std::vector<std::string>> tokens = split_words(line.substr(kMark.size()));
  if (!tokens) return invalid_input(where + tokens.error().message);
  if (!tokens->empty() && !tokens->front().starts_with('-')) {
    return invalid_input(where + shown(tokens->front()) +
                         " is not a flag; write flags as on the command line, such as "
                         "#TUTTI --cpus 4 --time 1h");
  }
  return Directive{number, *std::move(tokens)};
}

std::string_view shebang_of(std::string_view text) {
  if (!text.starts_with("#!")) return {};
  std::string_view line = text.substr(2, text.find('\n') - 2);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return trimmed(line);
}

// What an editor on another system leaves, and no kernel or shell understands.
Result<void> check_beginning(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf"))
    return invalid_input("line 1: begins with a byte-order mark; save the file without it");
  if (text.starts_with("#!") && text.substr(0, text.find('\n')).ends_with('\r'))
    return invalid_input(
        "line 1: ends in a carriage return, so that its interpreter is not found; save the file "
        "with Unix line ends");
  return {};
}

}  // namespace

bool has_shebang(std::string_view text) {
  return !shebang_of(text).empty();
}

Result<ScriptHeader> parse_script(std::string_view text) {
  if (const Result<void> begins = check_beginning(text); !begins) return begins.error();
  ScriptHeader header;
  header.shebang = shebang_of(text);
  bool in_head = true;
  std::uint32_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find('\0') != line.npos) {
      return invalid_input("line " + std::to_string(number) +
                           ": has a NUL byte, so this is no script; run a program as a command "
                           "after --");
    }
    const std::size_t start = line.find_first_not_of(" \t");
    if (start != line.npos && line[start] != '#') in_head = false;
    if (!is_directive(line)) continue;
    if (!in_head) {
      header.late_lines.push_back(number);
      continue;
    }
    Result<Directive> directive = parse_directive(line, number);
    if (!directive) return directive.error();
    if (!directive->tokens.empty()) header.directives.push_back(*std::move(directive));
  }
  return header;
}

}  // namespace tutti
