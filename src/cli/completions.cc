#include "cli/completions.h"

#include <fmt/format.h>

#include <vector>

#include "cli/verb.h"
#include "core/spec/command_line.h"

namespace tutti {
namespace {

constexpr std::string_view kNodes = "TUTTI_NO_AUTOSTART=1 tutti nodes -q 2>/dev/null";
constexpr std::string_view kJobs = "TUTTI_NO_AUTOSTART=1 tutti ls -q 2>/dev/null";

std::string names_of(const Verb& verb) {
  std::string out(verb.name);
  for (const std::string_view alias : verb.aliases) out += "|" + std::string(alias);
  return out;
}

std::string all_names() {
  std::string out;
  for (const Verb* verb : all_verbs()) out += (out.empty() ? "" : " ") + std::string(verb->name);
  return out;
}

std::string option_words(const Verb& verb) {
  std::string out;
  for (const OptionGroup& group : verb.groups) {
    for (const Option& option : group.options) {
      out += (out.empty() ? "--" : " --") + std::string(option.name);
    }
  }
  return out;
}

// The bash command that fills COMPREPLY with what may stand here.
std::string bash_reply(std::string_view choices) {
  if (choices == "<file>") return "COMPREPLY=($(compgen -f -- \"$cur\"))";
  if (choices == "<folder>") return "COMPREPLY=($(compgen -d -- \"$cur\"))";
  if (choices == "<command>") return "COMPREPLY=($(compgen -c -f -- \"$cur\"))";
  if (choices == "<job>") {
    return fmt::format("COMPREPLY=($(compgen -W \"last all $({})\" -- \"$cur\"))", kJobs);
  }
  if (choices == "<node>") {
    return fmt::format("COMPREPLY=($(compgen -W \"$({})\" -- \"$cur\"))", kNodes);
  }
  if (choices == "<one-job>") {
    return fmt::format("COMPREPLY=($(compgen -W \"last $({})\" -- \"$cur\"))", kJobs);
  }
  if (choices == "<verb>") {
    return fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$cur\"))", all_names());
  }
  if (choices.empty()) return "COMPREPLY=()";
  return fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$cur\"))", choices);
}

// The names under which an option's value may follow, for a case pattern.
std::string value_pattern(const Option& option) {
  std::string out = "--" + std::string(option.name);
  if (option.letter != 0) out += fmt::format("|-{}", option.letter);
  return out;
}

std::string bash_verb(const Verb& verb) {
  std::string out = fmt::format("    {})\n      case \"$prev\" in\n", names_of(verb));
  for (const OptionGroup& group : verb.groups) {
    for (const Option& option : group.options) {
      if (option.kind == Option::Kind::kFlag) continue;
      out += fmt::format("        {}) {}; return ;;\n", value_pattern(option),
                         bash_reply(option.choices));
    }
  }
  out += "      esac\n";
  out += fmt::format("      if [[ $cur == -* ]]; then {}; ", bash_reply(option_words(verb)));
  if (!verb.later_choices.empty())
    out += fmt::format("elif ((COMP_CWORD > 2)); then {}; ", bash_reply(verb.later_choices));
  out += fmt::format("else {}; fi ;;\n", bash_reply(verb.word_choices));
  return out;
}

// Brackets and colons separate the parts of a zsh specification.
std::string zsh_help(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(std::string_view choices) {
  if (choices == "<file>") return "_files";
  if (choices == "<folder>") return "_files -/";
  if (choices == "<command>") return "_command_names -e";
  if (choices == "<job>") return "_tutti_jobs";
  if (choices == "<one-job>") return "_tutti_one_job";
  if (choices == "<node>") return "_tutti_nodes";
  if (choices == "<verb>") return "(" + all_names() + ")";
  if (choices.empty()) return " ";
  return "(" + std::string(choices) + ")";
}

std::string zsh_option(const Option& option) {
  const bool repeats = option.kind == Option::Kind::kList || option.kind == Option::Kind::kWords;
  std::string value;
  if (option.kind != Option::Kind::kFlag) {
    value = fmt::format(":{}:{}", zsh_help(option.value), zsh_action(option.choices));
  }
  const std::string tail = fmt::format("[{}]{}", zsh_help(option.help), value);
  std::string out;
  if (option.letter != 0) {
    out +=
        fmt::format("        {} \\\n",
                    single_quoted(fmt::format("{}-{}{}", repeats ? "*" : "", option.letter, tail)));
  }
  return out +
         fmt::format("        {} \\\n",
                     single_quoted(fmt::format("{}--{}{}", repeats ? "*" : "", option.name, tail)));
}

std::string fish_option(const Verb& verb, const Option& option) {
  std::string seen(verb.name);
  for (const std::string_view alias : verb.aliases) seen += " " + std::string(alias);
  std::string out =
      fmt::format("complete -c tutti -n '__fish_seen_subcommand_from {}' -l {}", seen, option.name);
  if (option.letter != 0) out += fmt::format(" -s {}", option.letter);
  if (option.kind != Option::Kind::kFlag) {
    out += option.choices == "<file>" || option.choices == "<folder>" ? " -r -F" : " -x";
    if (!option.choices.empty() && option.choices[0] != '<')
      out += " -a " + single_quoted(option.choices);
  }
  return out + " -d " + single_quoted(option.help) + "\n";
}

std::string fish_words(const Verb& verb) {
  std::string seen(verb.name);
  for (const std::string_view alias : verb.aliases) seen += " " + std::string(alias);
  const std::string head =
      fmt::format("complete -c tutti -n '__fish_seen_subcommand_from {}'", seen);
  if (verb.word_choices == "<file>" || verb.word_choices == "<command>") return head + " -F\n";
  if (verb.word_choices == "<job>") return head + fmt::format(" -a 'last all ({})'\n", kJobs);
  if (verb.word_choices == "<one-job>") return head + fmt::format(" -a 'last ({})'\n", kJobs);
  if (verb.word_choices == "<verb>") return head + " -a " + single_quoted(all_names()) + "\n";
  if (verb.word_choices.empty()) return {};
  if (verb.later_choices == "<node>") {
    const std::string first = fmt::format("__fish_seen_subcommand_from {}", verb.word_choices);
    const std::string both =
        fmt::format("complete -c tutti -n '__fish_seen_subcommand_from {}", seen);
    return fmt::format("{0}; and not {1}' -a {2}\n{0}; and {1}' -a '({3})'\n", both, first,
                       single_quoted(verb.word_choices), kNodes);
  }
  return head + " -a " + single_quoted(verb.word_choices) + "\n";
}

}  // namespace

std::string bash_completions() {
  std::string out =
      "# bash completion for tutti\n"
      "_tutti() {\n"
      "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n";
  out += fmt::format("    {}\n    return\n  fi\n", bash_reply("<verb>"));
  out += "  case \"${COMP_WORDS[1]}\" in\n";
  for (const Verb* verb : all_verbs()) out += bash_verb(*verb);
  return out + "  esac\n}\ncomplete -F _tutti tutti\n";
}

std::string zsh_completions() {
  std::string out =
      "#compdef tutti\n"
      "_tutti_jobs() {\n"
      "  local -a jobs\n";
  out += fmt::format("  jobs=(last all ${{(f)\"$({})\"}})\n", kJobs);
  out += "  compadd -a jobs\n}\n\n_tutti_one_job() {\n  local -a jobs\n";
  out += fmt::format("  jobs=(last ${{(f)\"$({})\"}})\n", kJobs);
  out += "  compadd -a jobs\n}\n\n_tutti_nodes() {\n  local -a nodes\n";
  out += fmt::format("  nodes=(${{(f)\"$({})\"}})\n", kNodes);
  out += "  compadd -a nodes\n}\n\n_tutti() {\n  local -a verbs\n  verbs=(\n";
  for (const Verb* verb : all_verbs()) {
    out += fmt::format("    {}\n",
                       single_quoted(fmt::format("{}:{}", verb->name, zsh_help(verb->summary))));
  }
  out +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe 'verb' verbs\n"
      "    return\n"
      "  fi\n"
      "  local verb=${words[2]}\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $verb in\n";
  for (const Verb* verb : all_verbs()) {
    out += fmt::format("    {})\n      _arguments \\\n", names_of(*verb));
    for (const OptionGroup& group : verb->groups) {
      for (const Option& option : group.options) out += zsh_option(option);
    }
    const bool later = !verb->later_choices.empty();
    if (later)
      out += fmt::format("        {} \\\n",
                         single_quoted(fmt::format("1: :{}", zsh_action(verb->word_choices))));
    out +=
        fmt::format("        {} ;;\n",
                    single_quoted(fmt::format(
                        "*: :{}", zsh_action(later ? verb->later_choices : verb->word_choices))));
  }
  return out + "  esac\n}\n_tutti \"$@\"\n";
}

std::string fish_completions() {
  std::string out = "# fish completion for tutti\ncomplete -c tutti -f\n";
  for (const Verb* verb : all_verbs()) {
    out += fmt::format("complete -c tutti -n __fish_use_subcommand -a {} -d {}\n", verb->name,
                       single_quoted(verb->summary));
  }
  for (const Verb* verb : all_verbs()) {
    out += fish_words(*verb);
    for (const OptionGroup& group : verb->groups) {
      for (const Option& option : group.options) out += fish_option(*verb, option);
    }
  }
  return out;
}

}  // namespace tutti
