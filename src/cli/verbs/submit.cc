#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/ending.h"
#include "cli/follow.h"
#include "cli/follow_batch.h"
#include "cli/image_builds.h"
#include "cli/job_options.h"
#include "cli/job_request.h"
#include "cli/output/json.h"
#include "cli/output/text.h"
#include "cli/session.h"
#include "cli/submission.h"
#include "cli/verbs/verbs.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr Option kOwnOptions[] = {
    {"follow",
     'f',
     Kind::kFlag,
     {},
     "show its output, or of many tasks the progress, until it ends; Ctrl-C stops the watching",
     {}},
    kDryRunOption,
    kNoContainerOption,
    {"quiet", 'q', Kind::kFlag, {}, "print only the job's id", {}},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOwnOptions},
                                   {"Job", kJobOptions},
                                   {"Many tasks", kManyTasksOptions},
                                   {"Resources", kResourceOptions}};
constexpr Example kExamples[] = {
    {"tutti submit -n train --cpus 4 --time 2h -- python train.py", "queue a command"},
    {"tutti submit --array 1-100%4 -- ./sweep.sh",
     "a hundred tasks, four at a time; "
     "$TUTTI_TASK is the number"},
    {"tutti submit --after last:any -- ./report.sh", "when the last job has ended, however"},
    {"tutti submit train.sh --epochs 10", "a script with #TUTTI lines, and its arguments"},
    {"tutti submit job.yaml", "a job file"},
    {"tutti submit manifest.yaml", "many workers that start together"},
};

void print_ids(Session& session, const Arguments& arguments, const json::array& jobs,
               const Submission& submission) {
  Screen& screen = session.screen();
  if (session.json()) {
    json::array ids(submission.ids.begin(), submission.ids.end());
    print_json(screen, json::object{{"id", submission.ids.front()}, {"ids", std::move(ids)}});
    return;
  }
  for (std::size_t i = 0; i < submission.ids.size(); ++i) {
    if (arguments.has("quiet")) {
      screen.out(fmt::format("{}\n", submission.ids[i]));
      continue;
    }
    const std::string name = i < jobs.size() ? text_at(jobs[i], "name") : "";
    screen.out(fmt::format("Submitted job {}{}.\n", submission.ids[i],
                           name.empty() ? "" : " (" + printable(name) + ")"));
  }
  if (!arguments.has("quiet") && !arguments.has("follow") && screen.out_is_terminal()) {
    const auto id = submission.ids.front();
    screen.out(screen.styled(
        Style::kDim,
        fmt::format("Watch it with 'tutti logs -f {0}', ask with 'tutti why {0}'.", id)));
    screen.out("\n");
  }
}

Watched follow_submitted(Session& session, std::uint64_t id, const json::value& job) {
  FollowOptions options;
  options.job = id;
  options.ranks = ranks_in(job);
  options.logs = true;
  options.say_why_waiting = true;
  auto followed = follow(session, options);
  if (!followed) return {session.fail(followed.error())};
  if (followed->left) {
    session.screen().err(
        fmt::format("\nJob {0} goes on. Watch it with 'tutti logs -f {0}', end it "
                    "with 'tutti cancel {0}'.\n",
                    id));
    return {*followed->left, true};
  }
  if (session.json()) {
    print_json(session.screen(), ended_json(*followed));
  } else {
    say_ending(session, followed->job);
  }
  return {exit_status_of(followed->job)};
}

int run(Session& session, const Arguments& arguments) {
  auto requests = jobs_of(session, arguments);
  if (!requests) return session.refuse(requests.error());
  if (auto named = name_built_images(*requests); !named) return session.fail(named.error());
  if (arguments.has("dry-run")) return print_dry_run(session, *requests, arguments.has("quiet"));
  auto submission = submit_requests(session, *requests);
  if (!submission) return session.fail(submission.error());
  print_ids(session, arguments, requests->jobs, *submission);
  if (!arguments.has("follow")) return kExitOk;
  int status = kExitOk;
  for (std::size_t i = 0; i < submission->ids.size(); ++i) {
    const std::uint64_t id = submission->ids[i];
    const bool many = has_many_tasks(requests->jobs[i]) && !session.json();
    const Watched one = many ? follow_batch(session, id, arguments.has("quiet"))
                             : follow_submitted(session, id, requests->jobs[i]);
    if (one.left) return one.status;
    if (status == kExitOk) status = one.status;
  }
  return status;
}

}  // namespace

const Verb kSubmitVerb{
    .name = "submit",
    .aliases = kNoAliases,
    .summary = "queue a job and return at once",
    .description =
        "Queues a command, a script or a job file, prints the job's id and returns. The job runs "
        "in "
        "the current folder with the current environment, and outlives the terminal and the "
        "login.\n"
        "\n"
        "Options stand before the command; everything from the first word on belongs to the "
        "command. "
        "A single word with blanks or shell characters is a line for the shell. A file with #TUTTI "
        "lines is a script: its text is sent as it is now, the #TUTTI lines are options, and the "
        "command line wins over them. A file that ends in .yaml is a job file, or a manifest of "
        "many "
        "workers. After -- nothing is taken for a script or a job file.",
    .usage = "[OPTIONS] [--] COMMAND [ARGUMENTS] | SCRIPT [ARGUMENTS] | FILE.yaml",
    .word_choices = "<command>",
    .tail = Tail::kCommand,
    .least_words = 1,
    .most_words = 0,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
