#include "cli/completions.h"

#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/session.h"
#include "cli/unknown_word.h"
#include "cli/verbs/verbs.h"

namespace tutti {
namespace {

constexpr OptionGroup kGroups[] = {{"Options", kHelpOnly}};
constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};
constexpr Example kExamples[] = {
    {"tutti completions bash > ~/.local/share/bash-completion/completions/tutti", "for bash"},
    {"tutti completions fish > ~/.config/fish/completions/tutti.fish", "for fish"},
};

int run(Session& session, const Arguments& arguments) {
  const std::string& shell = arguments.words()[0];
  if (shell == "bash") {
    session.screen().out(bash_completions());
  } else if (shell == "zsh") {
    session.screen().out(zsh_completions());
  } else if (shell == "fish") {
    session.screen().out(fish_completions());
  } else {
    return session.usage_error(unknown_word("shell", shell, kShells));
  }
  return kExitOk;
}

}  // namespace

const Verb kCompletionsVerb{.name = "completions",
                            .aliases = kNoAliases,
                            .summary = "print completions for bash, zsh or fish",
                            .description =
                                "Prints a script that completes verbs, options, states and job "
                                "numbers. Put it where the shell looks for completions.",
                            .usage = "bash | zsh | fish",
                            .word_choices = "bash zsh fish",
                            .tail = Tail::kWords,
                            .least_words = 1,
                            .most_words = 1,
                            .groups = kGroups,
                            .examples = kExamples,
                            .run = run};

}  // namespace tutti
