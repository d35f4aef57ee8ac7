#include "core/spec/command_line.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/spec/text.h"

namespace tutti {
namespace {

// First words that bash does not look up as a program, or does otherwise than the program of that
// name. Sorted. echo, true and false are left out: their programs do the same.
constexpr std::array<std::string_view, 78> kShellWords = {
    ".",        ":",      "[",       "[[",       "alias",   "bg",        "bind",     "break",
    "builtin",  "caller", "case",    "cd",       "command", "compgen",   "complete", "compopt",
    "continue", "coproc", "declare", "dirs",     "disown",  "do",        "done",     "elif",
    "else",     "enable", "esac",    "eval",     "exec",    "exit",      "export",   "fc",
    "fg",       "fi",     "for",     "function", "getopts", "hash",      "help",     "history",
    "if",       "in",     "jobs",    "kill",     "let",     "local",     "logout",   "mapfile",
    "popd",     "printf", "pushd",   "pwd",      "read",    "readarray", "readonly", "return",
    "select",   "set",    "shift",   "shopt",    "source",  "suspend",   "test",     "then",
    "time",     "times",  "trap",    "type",     "typeset", "ulimit",    "umask",    "unalias",
    "unset",    "until",  "wait",    "while",    "{",       "}",
};
static_assert(std::is_sorted(kShellWords.begin(), kShellWords.end()));

bool is_shell_word(std::string_view word) {
  return std::binary_search(kShellWords.begin(), kShellWords.end(), word);
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// Characters that mean something to bash outside quotes, beside the quotes themselves.
bool is_meta(char c) {
  constexpr std::string_view kMeta = "\\$`*?[]{}~<>|&;()#!\n";
  return c == '\0' || kMeta.find(c) != std::string_view::npos;
}

// The text inside the quotes that open at `at`, which is moved behind the closing one. Nothing when
// the quotes are open or hold what the shell would expand.
std::optional<std::string_view> take_quoted(std::string_view line, std::size_t& at) {
  const char quote = line[at];
  const std::size_t end = line.find(quote, at + 1);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view inside = line.substr(at + 1, end - at - 1);
  const bool special = inside.find_first_of(quote == '"' ? "\\$`!\n" : "\n") != inside.npos ||
                       inside.find('\0') != inside.npos;
  if (special) return std::nullopt;
  at = end + 1;
  return inside;
}

// The words of a line that needs no shell, or nothing.
std::optional<std::vector<std::string>> plain_words(std::string_view line) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (true) {
    while (at < line.size() && is_blank(line[at])) ++at;
    if (at == line.size()) return words;
    std::string word;
    while (at < line.size() && !is_blank(line[at])) {
      if (line[at] == '\'' || line[at] == '"') {
        const std::optional<std::string_view> inside = take_quoted(line, at);
        if (!inside) return std::nullopt;
        word += *inside;
      } else if (is_meta(line[at])) {
        return std::nullopt;
      } else {
        word += line[at++];
      }
    }
    words.push_back(std::move(word));
  }
}

// Whether bash takes the first word for something else than the name of a program: an assignment,
// a job (%1), a keyword or a builtin.
bool first_word_is_special(std::string_view word) {
  return word.empty() || word[0] == '%' || word.find('=') != std::string_view::npos ||
         is_shell_word(word);
}

bool means_itself(char c) {
  constexpr std::string_view kPlain = "_@+:,./-";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kPlain.find(c) != std::string_view::npos;
}

// Takes one word off the front, with quotes removed. False when a quote or a backslash is open.
bool take_word(std::string_view text, std::size_t& at, std::string& word) {
  while (at < text.size() && !is_blank(text[at]) && text[at] != '\n') {
    const char c = text[at++];
    if (c == '\\') {
      if (at == text.size()) return false;
      word += text[at++];
    } else if (c == '\'' || c == '"') {
      for (; at < text.size() && text[at] != c; ++at) {
        const bool escapes =
            c == '"' && text[at] == '\\' && at + 1 < text.size() &&
            std::string_view("\\\"$`").find(text[at + 1]) != std::string_view::npos;
        if (escapes) ++at;
        word += text[at];
      }
      if (at == text.size()) return false;
      ++at;
    } else {
      word += c;
    }
  }
  return true;
}

}  // namespace

Command command_of_line(std::string_view line) {
  Command command;
  if (auto words = plain_words(line); words && !words->empty()) {
    if (!first_word_is_special(words->front())) {
      command.argv = std::move(*words);
      return command;
    }
  }
  command.shell = line;
  return command;
}

std::string shell_quote(std::string_view text) {
  const bool bare =
      !text.empty() && std::all_of(text.begin(), text.end(), means_itself) && !is_shell_word(text);
  return bare ? std::string(text) : single_quoted(text);
}

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    // Nothing is special between single quotes but the quote itself.
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string shell_join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    out += shell_quote(word);
  }
  return out;
}

Result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && (is_blank(text[at]) || text[at] == '\n')) ++at;
    if (at == text.size() || text[at] == '#') return words;
    std::string word;
    if (!take_word(text, at, word)) {
      return invalid_input("open quote or backslash in " + shown(text) + ": close it");
    }
    words.push_back(std::move(word));
  }
}

std::string command_text(const Command& command) {
  return command.argv.empty() ? command.shell : shell_join(command.argv);
}

}  // namespace tutti
