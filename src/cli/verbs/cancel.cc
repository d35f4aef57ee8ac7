#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/output/json.h"
#include "cli/output/text.h"
#include "cli/select.h"
#include "cli/session.h"
#include "cli/verbs/verbs.h"
#include "client/views.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr Option kOptions[] = {
    {"yes", 'y', Kind::kFlag, {}, "do not ask, also when several jobs are meant", {}},
    {"quiet", 'q', Kind::kFlag, {}, "say nothing when it worked", {}},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}};
constexpr Example kExamples[] = {{"tutti cancel last", "the newest job"},
                                 {"tutti cancel 3,5-8", "several jobs"},
                                 {"tutti cancel 12.7", "one task"},
                                 {"tutti cancel -y all", "everything, without a question"}};

json::object body_of(const Chosen& chosen) {
  if (chosen.all) return {{"all", true}};
  json::array jobs;
  for (const ChosenJob& job : chosen.jobs) {
    json::object entry{{"id", job.id}};
    if (!job.labels.empty()) entry["tasks"] = json::array(job.labels.begin(), job.labels.end());
    jobs.push_back(std::move(entry));
  }
  return {{"jobs", std::move(jobs)}};
}

// Whether a mass cancel may go on.
Result<bool> confirmed(Session& session, const Chosen& chosen) {
  if (!session.screen().in_is_terminal() || session.json()) {
    return invalid_input("this cancels several jobs; say so with -y");
  }
  const std::string what = chosen.all ? "all jobs" : fmt::format("{} jobs", chosen.jobs.size());
  const std::string answer = session.screen().ask(fmt::format("Cancel {}? [y/N] ", what));
  return answer == "y" || answer == "Y" || answer == "yes";
}

// Whether nothing has to be asked, because nothing is left.
bool is_nothing_left(Session& session) {
  auto answer = session.client().request(
      "GET", fmt::format("/v1/jobs?state={}&limit=1", kUnfinishedStates), {});
  return answer && job_views(*answer).empty();
}

int tell(Session& session, const json::value& answer, bool quiet) {
  if (session.json()) {
    print_json(session.screen(), answer);
    return kExitOk;
  }
  if (quiet) return kExitOk;
  const auto tasks = static_cast<std::uint64_t>(integer_at(answer, "tasks").value_or(0));
  const auto* jobs = answer.as_object().if_contains("jobs");
  const std::size_t count = jobs != nullptr && jobs->is_array() ? jobs->as_array().size() : 0;
  session.screen().out(tasks == 0 ? "Nothing to cancel: it has ended already.\n"
                                  : fmt::format("Cancelled {} of {}.\n", counted(tasks, "task"),
                                                counted(count, "job")));
  return kExitOk;
}

int run(Session& session, const Arguments& arguments) {
  auto chosen = choose(session.client(), arguments.words()[0]);
  if (!chosen) return session.refuse(chosen.error());
  const bool quiet = arguments.has("quiet");
  const bool many = chosen->all || chosen->jobs.size() > 1;
  if (many && !arguments.has("yes")) {
    if (chosen->all && is_nothing_left(session))
      return tell(session, json::object{{"tasks", 0}, {"jobs", json::array()}}, quiet);
    auto go_on = confirmed(session, *chosen);
    if (!go_on) return session.usage_error(go_on.error());
    if (!*go_on) {
      session.screen().err("Nothing was cancelled.\n");
      return kExitFailure;
    }
  }
  auto answer = session.client().request("POST", "/v1/cancel", json::serialize(body_of(*chosen)));
  if (!answer) return session.fail(answer.error());
  return tell(session, *answer, quiet);
}

}  // namespace

const Verb kCancelVerb{.name = "cancel",
                       .aliases = kNoAliases,
                       .summary = "end jobs or tasks",
                       .description =
                           "Takes queued tasks out of the queue and ends running ones: SIGTERM to "
                           "the whole session, then SIGKILL after the grace time. JOBS is 'last', "
                           "'all', or a list such as 3,5-8 or 12.7.",
                       .usage = "[OPTIONS] JOBS",
                       .word_choices = "<job>",
                       .tail = Tail::kWords,
                       .least_words = 1,
                       .most_words = 1,
                       .groups = kGroups,
                       .examples = kExamples,
                       .run = run};

}  // namespace tutti
