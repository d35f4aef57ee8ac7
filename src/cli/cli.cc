#include "cli/cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "cli/arguments.h"
#include "cli/dispatch.h"
#include "cli/reference.h"
#include "cli/session.h"
#include "cli/unknown_verb.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

// What users expect of a scheduler and find elsewhere here.
struct Pointer {
  std::string_view word;
  std::string_view where;
};
constexpr Pointer kPointers[] = {
    {"top", "'tutti ls -w' shows jobs as they change, 'tutti gpus -w' what GPUs do"},
    {"attach", "'tutti logs -f JOB' shows what a job prints"},
    {"exec",
     "nothing enters a running job; 'tutti run' starts one, 'tutti show JOB' tells where it runs"},
};

}  // namespace

Error unknown_verb(std::string_view word) {
  for (const Pointer& pointer : kPointers) {
    if (pointer.word == word)
      return invalid_input(fmt::format("there is no verb '{}': {}", word, pointer.where));
  }
  std::vector<std::string_view> names;
  for (const Verb* verb : all_verbs()) {
    names.push_back(verb->name);
    names.insert(names.end(), verb->aliases.begin(), verb->aliases.end());
  }
  return invalid_input("unknown verb " + shown(word) + did_you_mean(word, names));
}

namespace {

// What was asked for is not known for sure; a script that wants JSON gets it.
bool asks_for_json(const std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, "--json") != end;
}

}  // namespace

int dispatch(Session& session, const std::vector<std::string>& words) {
  if (words.empty()) {
    session.screen().err(overview_text(session.screen()));
    return kExitUsage;
  }
  std::string name = words[0];
  if (name == "--help" || name == "-h") name = "help";
  if (name == "--version" || name == "-V") name = "version";
  const Verb* verb = find_verb(name);
  if (verb == nullptr) {
    session.set_json(asks_for_json(words));
    return session.usage_error(unknown_verb(name));
  }
  session.set_verb(verb->name);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  auto arguments = parse_arguments(*verb, rest);
  if (!arguments) {
    session.set_json(asks_for_json(rest));
    return session.usage_error(arguments.error());
  }
  if (arguments->has("help")) {
    session.screen().out(verb_text(*verb, session.screen()));
    return kExitOk;
  }
  session.set_json(arguments->has("json"));
  return verb->run(session, *arguments);
}

int cli_main(int argc, char** argv, const Entries& entries) {
  if (argc > 1 && std::string_view(argv[1]) == "keeper" && entries.keeper_run != nullptr) {
    return entries.keeper_run(argc - 2, argv + 2);
  }
  // A reader that went away is seen as a failed write.
  ::signal(SIGPIPE, SIG_IGN);
  ProcessScreen screen;
  Session session(entries, screen);
  std::vector<std::string> words(argv + 1, argv + argc);
  const std::string_view called = argc > 0 ? argv[0] : "";
  const std::string_view name = called.substr(called.rfind('/') + 1);
  if (std::find(std::begin(kLinkNames), std::end(kLinkNames), name) != std::end(kLinkNames))
    words.emplace(words.begin(), name);
  const int status = dispatch(session, words);
  if (screen.out_failure() == EPIPE) return kExitUnread;
  return status == kExitOk && screen.broken() ? kExitFailure : status;
}

}  // namespace tutti
