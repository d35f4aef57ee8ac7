#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/job_options.h"
#include "cli/output/json.h"
#include "cli/output/render.h"
#include "cli/select.h"
#include "cli/session.h"
#include "cli/verbs/verbs.h"

namespace tutti {
namespace {

constexpr Option kOptions[] = {
    {"quiet", 'q', Kind::kFlag, {}, "print only the first cause, as one word such as cpus", {}},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}};
constexpr std::string_view kAliases[] = {"why"};
constexpr Example kExamples[] = {{"tutti why last", "why does it not start?"},
                                 {"tutti explain 12.7", "for one task"}};

// What is skipped waits for nothing any more; the job itself knows because of whom.
int say_skipped(Session& session, std::uint64_t id) {
  auto answer = session.client().request("GET", fmt::format("/v1/jobs/{}", id), {});
  if (!answer) return session.fail(answer.error());
  JobView job = job_view(*answer);
  job.state = "skipped";
  session.screen().out(ending_text(job) + "\n");
  return kExitOk;
}

int run(Session& session, const Arguments& arguments) {
  auto chosen = choose_one(session.client(), arguments.words()[0]);
  if (!chosen) return session.refuse(chosen.error());
  std::string target = fmt::format("/v1/jobs/{}/explain", chosen->id);
  if (!chosen->labels.empty()) target += fmt::format("?task={}", chosen->labels[0]);
  auto answer = session.client().request("GET", target, {});
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(session.screen(), *answer);
    return kExitOk;
  }
  ExplanationView explanation = explanation_view(*answer);
  explanation.of_task = !chosen->labels.empty();
  if (arguments.has("quiet")) {
    session.screen().out((explanation.code.empty() ? explanation.state : explanation.code) + "\n");
    return kExitOk;
  }
  if (explanation.state == "skipped" && !explanation.of_task)
    return say_skipped(session, chosen->id);
  session.screen().out(render_explanation(explanation, session.screen(), session.now()));
  return kExitOk;
}

}  // namespace

const Verb kExplainVerb{
    .name = "explain",
    .aliases = kAliases,
    .summary = "say why a job waits and when it will start",
    .description =
        "Names every cause that keeps a job or task from starting, what would "
        "start it now, and when it is expected to start: the time that is right "
        "in half of all cases, and the one that holds nine times of ten. With -q it prints the "
        "code of the first cause, or the state of what does not wait.",
    .usage = "[OPTIONS] JOB[.TASK]",
    .word_choices = "<one-job>",
    .tail = Tail::kWords,
    .least_words = 1,
    .most_words = 1,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
