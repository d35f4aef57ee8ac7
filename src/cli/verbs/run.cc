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
#include "cli/output/progress.h"
#include "cli/session.h"
#include "cli/submission.h"
#include "cli/verbs/verbs.h"

namespace tutti {
namespace {

constexpr Option kOwnOptions[] = {
    kDryRunOption,
    kNoContainerOption,
    {"verbose", 'v', Kind::kFlag, {}, "tell the job's id and result on stderr", {}},
    {"quiet", 'q', Kind::kFlag, {}, "say nothing about why it waits or ended", {}},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOwnOptions},
                                   {"Job", kJobOptions},
                                   {"Many tasks", kManyTasksOptions},
                                   {"Resources", kResourceOptions}};
constexpr Example kExamples[] = {
    {"tutti run -- make -j4", "wait for a free slot, then run in this folder"},
    {"tutti run --mem 8G --time 1h python train.py", "with limits"},
    {"tutti run manifest.yaml", "many workers that start together"},
};

int finish(Session& session, const Arguments& arguments, const JobView& job) {
  if (arguments.has("verbose")) {
    session.screen().err(
        fmt::format("tutti: job {} {}: {}\n", job.id, job.state, progress_summary(job)));
  }
  if (!arguments.has("quiet")) say_ending(session, job);
  return exit_status_of(job);
}

int follow_run(Session& session, const Arguments& arguments, const Submission& submission,
               const boost::json::value& request) {
  FollowOptions options;
  options.job = submission.ids.front();
  options.cancelled_too = submission.builds;
  options.ranks = ranks_in(request);
  options.logs = !session.json();
  options.say_why_waiting = !arguments.has("quiet");
  options.cancel_on_interrupt = true;
  ProgressBar bar(session.screen());
  if (!arguments.has("quiet") && !session.json()) options.copies = &bar;
  auto followed = follow(session, options);
  if (!followed) return session.fail(followed.error());
  if (session.json()) {
    auto job = session.client().request("GET", fmt::format("/v1/jobs/{}", options.job), {});
    if (!job) return session.fail(job.error());
    print_json(session.screen(), *job);
    return exit_status_of(followed->job);
  }
  return finish(session, arguments, followed->job);
}

int run(Session& session, const Arguments& arguments) {
  auto requests = jobs_of(session, arguments);
  if (!requests) return session.refuse(requests.error());
  if (requests->jobs.size() != 1) {
    return session.usage_error("the file has several jobs; use 'tutti submit' for them");
  }
  if (auto named = name_built_images(*requests); !named) return session.fail(named.error());
  if (arguments.has("dry-run")) return print_dry_run(session, *requests, arguments.has("quiet"));
  auto submission = submit_requests(session, *requests);
  if (!submission) return session.fail(submission.error());
  const std::uint64_t id = submission->ids.front();
  if (arguments.has("verbose")) session.screen().err(fmt::format("tutti: job {}\n", id));
  if (has_many_tasks(requests->jobs[0]))
    return follow_batch(session, id, arguments.has("quiet"), true).status;
  return follow_run(session, arguments, *submission, requests->jobs[0]);
}

}  // namespace

const Verb kRunVerb{
    .name = "run",
    .aliases = kNoAliases,
    .summary = "queue a job, show its output and return its exit code",
    .description =
        "Like submit, but stays: the job's stdout and stderr become its own, Ctrl-C cancels the "
        "job and what builds its image. The job's stdin is /dev/null. The exit status is the "
        "job's: "
        "128 + N for signal N, 124 for a time limit, 137 for memory, 130 for cancelled, 127 for a "
        "command that could not start, 125 for a lost or "
        "skipped job.\n"
        "\n"
        "Of a job of many tasks, such as an array, it shows the progress, the tasks that failed "
        "and "
        "a summary; 'tutti logs' has their output, as it has that of more than 1,000 workers. "
        "With --json the output stays in the job's logs and the finished job is printed.",
    .usage = "[OPTIONS] [--] COMMAND [ARGUMENTS] | SCRIPT [ARGUMENTS] | FILE.yaml",
    .word_choices = "<command>",
    .tail = Tail::kCommand,
    .least_words = 1,
    .most_words = 0,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
