#include "cli/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/output/text.h"

namespace tutti {
namespace {

constexpr std::size_t kTextWidth = 80;

// `text` in lines of at most kTextWidth columns, each after `indent` blanks. The first line's
// indent is the caller's business.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  bool first = true;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!first && column + 1 + columns_of(word) > kTextWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns_of(word);
    first = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::vector<std::string_view> paragraphs(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const auto end = text.find("\n\n");
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 2);
  }
  return out;
}

std::string alias_text(const Verb& verb) {
  std::string out;
  for (const std::string_view alias : verb.aliases) {
    out += (out.empty() ? "" : ", ") + std::string(alias);
  }
  return out;
}

std::string options_text(const OptionGroup& group, const Screen& screen) {
  constexpr std::size_t kColumn = 30;
  std::string out = "\n" + screen.styled(Style::kBold, group.title) + "\n";
  for (const Option& option : group.options) {
    std::string names = "  " + option_names(option);
    if (names.size() + 2 > kColumn) {
      out += names + "\n" + std::string(kColumn, ' ');
    } else {
      out += fmt::format("{:<{}}", names, kColumn);
    }
    out += wrapped(option.help, kColumn) + "\n";
  }
  return out;
}

// Backslashes and leading dots mean something in a manual page, and a minus is not a hyphen.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  if (out.starts_with('.') || out.starts_with('\'')) out = "\\&" + out;
  return out;
}

std::string roff_verb(const Verb& verb) {
  std::string out = fmt::format(".SS tutti {} {}\n", roff(verb.name), roff(verb.usage));
  for (const std::string_view paragraph : paragraphs(verb.description)) {
    out += (out.ends_with("\n.SS") ? "" : ".PP\n") + roff(paragraph) + "\n";
  }
  // A paragraph mark directly after a heading is superfluous.
  const std::string superfluous = "\n.PP\n";
  out.replace(out.find(superfluous), superfluous.size(), "\n");
  if (!verb.aliases.empty()) out += fmt::format(".PP\nAlso called: {}.\n", roff(alias_text(verb)));
  for (const OptionGroup& group : verb.groups) {
    for (const Option& option : group.options) {
      out += fmt::format(".TP\n\\fB{}\\fR\n{}.\n", roff(option_names(option)), roff(option.help));
    }
  }
  return out;
}

constexpr std::string_view kEnvironment[][2] = {
    {"TUTTI_HOME",
     "the folder of the daemon's state, logs and socket (default: "
     "$XDG_DATA_HOME/tutti or ~/.local/share/tutti)"},
    {"TUTTI_HOST", "host:port of a daemon elsewhere"},
    {"TUTTI_TOKEN", "the token for TUTTI_HOST (default: the content of $TUTTI_HOME/token)"},
    {"TUTTI_NO_AUTOSTART", "if set, no daemon is started"},
    {"NO_COLOR", "if set, no colours are used"},
};

constexpr std::string_view kExitCodes[][2] = {
    {"0", "it worked"},
    {"1", "it failed"},
    {"2", "it was called wrongly"},
    {"other",
     "run, wait and logs -f return the job's own code: 128+N for signal N, 124 for a time "
     "limit, 137 for memory, 130 for cancelled, 127 for a command that could not start, 125 "
     "for a lost or skipped job"},
};

constexpr std::string_view kSelectors =
    "JOB is a job's number or 'last', the newest job. JOB.TASK is a task of it by its number. "
    "Where several are allowed, JOBS is a list such as 3,5-8, or 'all'; cancel, wait and retry "
    "also take tasks, such as 12.1-5.";

std::string markdown_verb(const Verb& verb) {
  std::string out =
      fmt::format("\n## tutti {}\n\n`tutti {} {}`\n", verb.name, verb.name, verb.usage);
  for (const std::string_view paragraph : paragraphs(verb.description)) {
    out += fmt::format("\n{}\n", paragraph);
  }
  if (!verb.aliases.empty()) out += fmt::format("\nAlso called: {}.\n", alias_text(verb));
  for (const OptionGroup& group : verb.groups) {
    out += fmt::format("\n| {} | |\n|---|---|\n", group.title);
    for (const Option& option : group.options) {
      std::string help(option.help);
      for (std::size_t at = 0; (at = help.find('|', at)) != help.npos; at += 2)
        help.insert(at, "\\");
      out += fmt::format("| `{}` | {} |\n", option_names(option), help);
    }
  }
  if (verb.examples.empty()) return out;
  out += "\n```sh\n";
  for (const Example& example : verb.examples) {
    out += fmt::format("{}  # {}\n", example.command, example.what);
  }
  return out + "```\n";
}

}  // namespace

std::string option_names(const Option& option) {
  std::string out = option.letter == 0 ? "" : fmt::format("-{}, ", option.letter);
  out += "--" + std::string(option.name);
  if (option.kind != Option::Kind::kFlag) out += " " + std::string(option.value);
  return out;
}

std::string overview_text(const Screen& screen) {
  std::string out =
      "tutti queues and runs commands on this and other machines.\n\n"
      "Usage: tutti VERB [OPTIONS] ...\n\n";
  std::size_t column = 0;
  for (const Verb* verb : all_verbs()) column = std::max(column, verb->name.size() + 2);
  for (const Verb* verb : all_verbs()) {
    out += "  " + screen.styled(Style::kBold, fmt::format("{:<{}}", verb->name, column));
    out += std::string(verb->summary);
    if (!verb->aliases.empty()) out += fmt::format(" (also: {})", alias_text(*verb));
    out += "\n";
  }
  return out +
         "\n'tutti help VERB' tells more about one of them.\n"
         "First job: tutti run -- echo hello\n";
}

std::string verb_text(const Verb& verb, const Screen& screen) {
  std::string out = fmt::format("tutti {} - {}\n\nUsage: tutti {} {}\n", verb.name, verb.summary,
                                verb.name, verb.usage);
  if (!verb.aliases.empty()) out += fmt::format("Also: {}\n", alias_text(verb));
  for (const std::string_view paragraph : paragraphs(verb.description)) {
    out += "\n" + wrapped(paragraph, 0) + "\n";
  }
  for (const OptionGroup& group : verb.groups) out += options_text(group, screen);
  if (verb.examples.empty()) return out;
  out += "\n" + screen.styled(Style::kBold, "Examples") + "\n";
  for (const Example& example : verb.examples) {
    out += fmt::format("  {}\n      {}\n", example.command, wrapped(example.what, 6));
  }
  return out;
}

std::string reference_markdown() {
  std::string out =
      "# Command line reference\n\n"
      "Made from the command table by `tutti help --markdown`; do not edit.\n\n";
  out += std::string(kSelectors) + "\n\n| verb | |\n|---|---|\n";
  for (const Verb* verb : all_verbs()) {
    out += fmt::format("| [{}](#tutti-{}) | {} |\n", verb->name, verb->name, verb->summary);
  }
  out += "\n| exit status | |\n|---|---|\n";
  for (const auto& row : kExitCodes) out += fmt::format("| {} | {} |\n", row[0], row[1]);
  out += "\n| environment | |\n|---|---|\n";
  for (const auto& row : kEnvironment) out += fmt::format("| `{}` | {} |\n", row[0], row[1]);
  for (const Verb* verb : all_verbs()) out += markdown_verb(*verb);
  return out;
}

std::string manual_page() {
  std::string out = ".TH TUTTI 1 2026-01-01 \"tutti " TUTTI_VERSION
                    "\" \"User Commands\"\n"
                    ".SH NAME\n"
                    "tutti \\- queue and run commands on this and other machines\n"
                    ".SH SYNOPSIS\n"
                    ".B tutti\n"
                    "\\fIVERB\\fR [\\fIOPTIONS\\fR] ...\n"
                    ".SH DESCRIPTION\n"
                    "Tutti queues commands and runs as many of them at once as fit the machine. "
                    "Its daemon starts\n"
                    "by itself.\n"
                    ".PP\n";
  out += roff(kSelectors) + "\n.SH VERBS\n";
  for (const Verb* verb : all_verbs()) out += roff_verb(*verb);
  out += ".SH EXIT STATUS\n";
  for (const auto& row : kExitCodes) out += fmt::format(".TP\n.B {}\n{}.\n", row[0], roff(row[1]));
  out += ".SH ENVIRONMENT\n";
  for (const auto& row : kEnvironment)
    out += fmt::format(".TP\n.B {}\n{}.\n", row[0], roff(row[1]));
  out += ".SH EXAMPLES\n";
  bool first = true;
  for (const Verb* verb : all_verbs()) {
    for (const Example& example : verb->examples) {
      out += fmt::format("{}{}:\n.PP\n.RS\n.nf\n{}\n.fi\n.RE\n", first ? "" : ".PP\n",
                         roff(example.what), roff(example.command));
      first = false;
    }
  }
  return out;
}

}  // namespace tutti
