#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/ending.h"
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
                                 {"tutti wait --timeout 1h all", "until nothing is left to do"},
                                 {"tutti wait 12.7", "one task"}};

// What is not there is told at once, not when those before it have ended.
Result<void> look_up(Client& client, const std::vector<ChosenJob>& jobs) {
  std::vector<std::uint64_t> ids;
  for (const ChosenJob& job : jobs) ids.push_back(job.id);
  const auto present = present_jobs(client, std::move(ids));
  if (!present) return present.error();
  for (const ChosenJob& job : jobs) {
    if (!present->contains(job.id)) return not_found(fmt::format("there is no job {}", job.id));
    for (const std::int64_t label : job.labels) {
      if (auto task = fetch_task(client, job.id, label); !task) return task.error();
    }
  }
  return {};
}

// What is waited for, one after the other: jobs, or single tasks of them.
Result<std::vector<FollowOptions>> wanted(Session& session, const std::string& selector) {
  auto chosen = choose(session.client(), selector);
  if (!chosen) return chosen.error();
  const bool several =
      chosen->jobs.size() > 1 || (!chosen->jobs.empty() && chosen->jobs[0].labels.size() > 1);
  if (several) {
    if (auto found = look_up(session.client(), chosen->jobs); !found) return found.error();
  }
  if (chosen->all) {
    auto ids = job_ids(session.client(), kUnfinishedStates);
    if (!ids) return ids.error();
    for (const std::uint64_t id : *ids) chosen->jobs.push_back({id, {}});
  }
  std::vector<FollowOptions> all;
  for (const ChosenJob& job : chosen->jobs) {
    FollowOptions one;
    one.job = job.id;
    if (job.labels.empty()) all.push_back(one);
    for (const std::int64_t label : job.labels) {
      one.task = label;
      all.push_back(one);
    }
  }
  return all;
}

int run(Session& session, const Arguments& arguments) {
  TimePoint deadline;
  if (arguments.has("timeout")) {
    auto timeout = parse_duration(arguments.value("timeout"));
    if (!timeout) return session.usage_error(timeout.error());
    deadline = session.now() + *timeout;
  }
  auto all = wanted(session, arguments.words()[0]);
  if (!all) return session.refuse(all.error());
  int status = kExitOk;
  json::array jobs;
  for (FollowOptions& options : *all) {
    options.deadline = deadline;
    auto followed = follow(session, options);
    if (!followed && deadline && session.now() >= deadline) {
      session.fail(followed.error());
      return kExitTimeout;
    }
    if (!followed) return session.fail(followed.error());
    if (followed->left) return *followed->left;
    if (!arguments.has("quiet") && !session.json()) say_ending(session, *followed);
    jobs.push_back(ended_json(*followed));
    if (status == kExitOk) status = exit_status_of(*followed);
  }
  if (session.json()) print_json(session.screen(), json::object{{"jobs", std::move(jobs)}});
  return status;
}

}  // namespace

const Verb kWaitVerb{
    .name = "wait",
    .aliases = kNoAliases,
    .summary = "wait until jobs or tasks have ended and return their exit code",
    .description =
        "Returns when all the jobs named, or single tasks of them such as 12.7, have ended, with "
        "the job's or task's own exit code; of several, the first that is not 0. 'all' means all "
        "that are unfinished now.",
    .usage = "[OPTIONS] JOBS",
    .word_choices = "<job>",
    .tail = Tail::kWords,
    .least_words = 1,
    .most_words = 1,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
