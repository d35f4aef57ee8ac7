#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/output/progress.h"
#include "cli/session.h"
#include "client/views.h"

namespace tutti {

// What to show while a job, or one task of it, runs, and what Ctrl-C means.
struct FollowOptions {
  std::uint64_t job = 0;
  bool logs = false;        // copy the job's stdout and stderr to ours; with --json as objects
  bool one_stream = false;  // with logs: only `stream`
  std::string stream;       // "stdout" or "stderr"
  std::optional<std::int64_t> task;  // followed alone, to its own end
  // With logs, of a gang: all of them, each line with its rank's number; no output of very many.
  std::uint64_t ranks = 0;
  std::optional<std::int64_t> tail;            // begin that many lines before the end
  bool say_why_waiting = false;                // on a terminal, after a second without a start
  TimePoint deadline;                          // give up then, with kTimeout; zero: never
  bool cancel_on_interrupt = false;            // otherwise Ctrl-C only stops the watching
  std::vector<std::uint64_t> cancelled_too;    // with the former: jobs that run for this one
  bool leave_on_second_interrupt = false;      // with the former: a second Ctrl-C stops watching
  std::function<void(const JobView&)> on_job;  // at every change
  ProgressBar* copies = nullptr;  // shows what is copied for the job; null: nothing does
};

// How the following ended.
struct Followed {
  JobView job;  // as last seen
  // The exit status of who stopped watching, by a signal or because nobody reads the output; the
  // job goes on. Nothing: it ended.
  std::optional<int> left;
  std::optional<TaskView> task;  // the one that was followed, as it ended
};

// What a verb that followed a job ends with.
struct Watched {
  int status = 0;
  bool left = false;  // somebody stopped the watching; the job goes on
};

// Follows a job, or the task of it that the options name, to its end. A daemon that goes away in
// the middle is waited for: the job goes on without it, and nothing that was shown is shown again.
Result<Followed> follow(Session& session, const FollowOptions& options);

}  // namespace tutti
