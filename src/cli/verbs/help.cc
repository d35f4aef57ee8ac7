#include "base/nearest.h"
#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/reference.h"
#include "cli/session.h"
#include "cli/unknown_verb.h"
#include "cli/verbs/verbs.h"

namespace tutti {
namespace {

constexpr Option kOptions[] = {
    {"man", 0, Kind::kFlag, {}, "print the manual page, for man(1)", {}},
    {"markdown", 0, Kind::kFlag, {}, "print the reference of all verbs in Markdown", {}},
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}};
constexpr Example kExamples[] = {{"tutti help submit", "all about one verb"},
                                 {"tutti help --man | man -l -", "the manual page"}};

int run(Session& session, const Arguments& arguments) {
  if (arguments.has("man")) {
    session.screen().out(manual_page());
  } else if (arguments.has("markdown")) {
    session.screen().out(reference_markdown());
  } else if (arguments.words().empty()) {
    session.screen().out(overview_text(session.screen()));
  } else {
    const Verb* verb = find_verb(arguments.words()[0]);
    if (verb == nullptr) return session.usage_error(unknown_verb(arguments.words()[0]));
    session.screen().out(verb_text(*verb, session.screen()));
  }
  return kExitOk;
}

}  // namespace

const Verb kHelpVerb{.name = "help",
                     .aliases = kNoAliases,
                     .summary = "tell about all verbs, or about one",
                     .description = "Lists the verbs, or describes one with all its options.",
                     .usage = "[OPTIONS] [VERB]",
                     .word_choices = "<verb>",
                     .tail = Tail::kWords,
                     .least_words = 0,
                     .most_words = 1,
                     .groups = kGroups,
                     .examples = kExamples,
                     .run = run};

}  // namespace tutti
