#include "cli/follow_batch.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/ending.h"
#include "cli/output/json.h"
#include "cli/output/progress.h"
#include "cli/output/render.h"
#include "cli/output/text.h"

namespace tutti {
namespace {

// More would bury the summary; all of them are in `tutti show`.
constexpr int kMostFailedLines = 20;

void print_failures(Session& session, const JobView& job) {
  auto answer = session.client().request(
      "GET", fmt::format("/v1/jobs/{}/tasks?state=failed&limit={}", job.id, kMostFailedLines), {});
  if (!answer) {
    session.screen().err("tutti: " + printable(answer.error().message) + "\n");
    return;
  }
  const auto tasks = task_views(*answer);
  for (const TaskView& task : tasks) session.screen().err(failure_line(job.id, task) + "\n");
  if (job.counts.failed > tasks.size()) {
    session.screen().err(fmt::format("... and {} more: tutti show {}\n",
                                     grouped(job.counts.failed - tasks.size()), job.id));
  }
}

}  // namespace

Watched follow_batch(Session& session, std::uint64_t id, bool quiet, bool cancel_on_interrupt) {
  Screen& screen = session.screen();
  ProgressBar bar(screen);
  FollowOptions options;
  options.job = id;
  options.cancel_on_interrupt = cancel_on_interrupt;
  if (!quiet && !session.json()) options.copies = &bar;
  options.on_job = [&](const JobView& job) {
    if (!quiet && !session.json()) bar.show(job, session.now());
  };
  auto followed = follow(session, options);
  bar.clear();
  if (!followed) return {session.fail(followed.error())};
  const JobView& job = followed->job;
  if (followed->left) {
    screen.err(
        fmt::format("Job {0} goes on. Watch it with 'tutti logs -f {0}' or 'tutti wait {0}', "
                    "end it with 'tutti cancel {0}'.\n",
                    id));
    return {*followed->left, true};
  }
  if (session.json()) {
    auto answer = session.client().request("GET", fmt::format("/v1/jobs/{}", id), {});
    if (!answer) return {session.fail(answer.error())};
    print_json(screen, *answer);
  } else {
    if (job.counts.failed > 0) print_failures(session, job);
    if (!quiet) screen.out(fmt::format("Job {}: {}\n", id, progress_summary(job)));
    if (job.counts.failed > 0 && screen.err_is_terminal()) {
      screen.err(
          fmt::format("Run only the failed ones again with 'tutti retry --failed {}'.\n", id));
    }
  }
  return {exit_status_of(job)};
}

}  // namespace tutti
