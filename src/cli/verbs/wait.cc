#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/follow.h"
#include "cli/job_options.h"
#include "cli/output/json.h"
#include "cli/select.h"
#include "cli/session.h"
#include "cli/verbs/verbs.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

namespace json = boost::json;

// What coreutils' timeout(1) returns.
constexpr int kExitTimeout = 124;

constexpr Option kOptions[] = {
    {"timeout", 0, Kind::kValue, "TIME", "give up after this time, with exit status 124", {}},
    {"quiet", 'q', Kind::kFlag, {}, "say nothing about how a job ended", {}},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}};
constexpr Example kExamples[] = {{"tutti wait last && ./next-step", "go on when it succeeded"},
                                 {"tutti wait --timeout 1h all", "until nothing is left to do"}};

Result<std::vector<std::uint64_t>> ids_of(Session& session, const std::string& selector) {
  auto chosen = choose(session.client(), selector);
  if (!chosen) return chosen.error();
  if (chosen->all) return job_ids(session.client(), kUnfinishedStates);
  std::vector<std::uint64_t> ids;
  for (const ChosenJob& job : chosen->jobs) {
    if (!job.labels.empty()) return invalid_input("wait takes whole jobs, not single tasks");
    ids.push_back(job.id);
  }
  return ids;
}

int run(Session& session, const Arguments& arguments) {
  TimePoint deadline;
  if (arguments.has("timeout")) {
    auto timeout = parse_duration(arguments.value("timeout"));
    if (!timeout) return session.usage_error(timeout.error());
    deadline = session.now() + *timeout;
  }
  auto ids = ids_of(session, arguments.words()[0]);
  if (!ids) return session.refuse(ids.error());
  int status = kExitOk;
  json::array jobs;
  for (const std::uint64_t id : *ids) {
    FollowOptions options;
    options.job = id;
    options.deadline = deadline;
    auto followed = follow(session, options);
    if (!followed && deadline && session.now() >= deadline) {
      session.fail(followed.error());
      return kExitTimeout;
    }
    if (!followed) return session.fail(followed.error());
    if (followed->detached) return 130;
    if (!arguments.has("quiet") && !session.json()) say_ending(session, followed->job);
    const int one = exit_status_of(followed->job);
    jobs.push_back(json::object{{"id", id}, {"state", followed->job.state}, {"exit_code", one}});
    if (status == kExitOk) status = one;
  }
  if (session.json()) print_json(session.screen(), json::object{{"jobs", std::move(jobs)}});
  return status;
}

}  // namespace

const Verb kWaitVerb{
    .name = "wait",
    .aliases = kNoAliases,
    .summary = "wait until jobs have ended and return their exit code",
    .description =
        "Returns when all the jobs named, not single tasks of them, have ended, with the job's own "
        "exit code; "
        "of several, the first that is not 0. 'all' means all that are unfinished "
        "now.",
    .usage = "[OPTIONS] JOBS",
    .word_choices = "<job>",
    .tail = Tail::kWords,
    .least_words = 1,
    .most_words = 1,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
