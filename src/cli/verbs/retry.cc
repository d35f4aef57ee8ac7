#include <fmt/format.h>

#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/follow_batch.h"
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
    {"failed", 0, Kind::kFlag, {}, "only failed tasks, not cancelled or skipped ones", {}},
    {"follow", 'f', Kind::kFlag, {}, "show the progress until the job ends", {}},
    {"quiet", 'q', Kind::kFlag, {}, "say nothing when it worked", {}},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}};
constexpr Example kExamples[] = {{"tutti retry --failed last", "the failed lines of a batch"},
                                 {"tutti retry --failed all", "whatever failed"},
                                 {"tutti retry 12.7", "one task"}};

Result<std::vector<std::int64_t>> failed_labels(Client& client, std::uint64_t job) {
  std::vector<std::int64_t> labels;
  std::string from;
  while (true) {
    auto answer = client.request(
        "GET", fmt::format("/v1/jobs/{}/tasks?state=failed&limit=1000{}", job, from), {});
    if (!answer) return answer.error();
    for (const TaskView& task : task_views(*answer)) labels.push_back(task.label);
    const auto next = integer_at(*answer, "next_from");
    if (!next) return labels;
    from = fmt::format("&from={}", *next);
  }
}

// How many tasks of the job were queued again.
Result<std::uint64_t> retry_job(Client& client, ChosenJob job, bool only_failed) {
  if (only_failed && job.labels.empty()) {
    auto labels = failed_labels(client, job.id);
    if (!labels) return labels.error();
    if (labels->empty()) return conflict(fmt::format("job {} has no failed task", job.id));
    job.labels = std::move(*labels);
  }
  json::object body;
  if (!job.labels.empty()) body["tasks"] = json::array(job.labels.begin(), job.labels.end());
  auto answer =
      client.request("POST", fmt::format("/v1/jobs/{}/retry", job.id), json::serialize(body));
  if (!answer) return answer.error();
  return static_cast<std::uint64_t>(integer_at(*answer, "tasks").value_or(0));
}

int run(Session& session, const Arguments& arguments) {
  auto chosen = choose(session.client(), arguments.words()[0]);
  if (!chosen) return session.refuse(chosen.error());
  if (chosen->all) {
    if (!arguments.has("failed"))
      return session.usage_error("'all' needs --failed; name the jobs otherwise");
    auto ids = job_ids(session.client(), "failed");
    if (!ids) return session.fail(ids.error());
    if (ids->empty()) return session.fail(conflict("no job has failed"));
    for (const std::uint64_t id : *ids) chosen->jobs.push_back({id, {}});
  }
  json::array done;
  std::uint64_t total = 0;
  for (ChosenJob& job : chosen->jobs) {
    const std::uint64_t id = job.id;
    auto tasks = retry_job(session.client(), std::move(job), arguments.has("failed"));
    if (!tasks) return session.fail(tasks.error());
    if (!session.json() && !arguments.has("quiet")) {
      session.screen().out(
          fmt::format("Queued {} of job {} again.\n", counted(*tasks, "task"), id));
    }
    done.push_back(id);
    total += *tasks;
  }
  if (session.json() && !arguments.has("follow")) {
    print_json(session.screen(), json::object{{"tasks", total}, {"jobs", std::move(done)}});
  }
  int status = kExitOk;
  if (!arguments.has("follow")) return status;
  for (const ChosenJob& job : chosen->jobs) {
    const Watched one = follow_batch(session, job.id, arguments.has("quiet"));
    if (one.left) return one.status;
    if (status == kExitOk) status = one.status;
  }
  return status;
}

}  // namespace

const Verb kRetryVerb{
    .name = "retry",
    .aliases = kNoAliases,
    .summary = "run tasks again that did not succeed",
    .description =
        "Queues the finished tasks of a job again that did not succeed: failed, "
        "cancelled and skipped ones, or with --failed only the failed ones. Their "
        "earlier logs stay, under their attempt number. 'all' means, with --failed, all jobs that "
        "failed. A job that was skipped runs although what it waited for has ended otherwise; "
        "retry "
        "that first, and it waits for it again.",
    .usage = "[OPTIONS] JOBS",
    .word_choices = "<job>",
    .tail = Tail::kWords,
    .least_words = 1,
    .most_words = 1,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
