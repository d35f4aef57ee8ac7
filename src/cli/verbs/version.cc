#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/output/json.h"
#include "cli/session.h"
#include "cli/verbs/verbs.h"

namespace tutti {
namespace {

constexpr OptionGroup kGroups[] = {{"Options", kJsonAndHelp}};

int run(Session& session, const Arguments&) {
  if (session.json()) {
    print_json(session.screen(), boost::json::object{{"version", TUTTI_VERSION}});
  } else {
    session.screen().out("tutti " TUTTI_VERSION "\n");
  }
  return kExitOk;
}

}  // namespace

const Verb kVersionVerb{.name = "version",
                        .aliases = kNoAliases,
                        .summary = "print the version",
                        .description = "Prints the version of this program.",
                        .usage = "[OPTIONS]",
                        .word_choices = {},
                        .tail = Tail::kWords,
                        .least_words = 0,
                        .most_words = 0,
                        .groups = kGroups,
                        .examples = {},
                        .run = run};

}  // namespace tutti
