#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "cli/arguments.h"
#include "cli/job_options.h"
#include "cli/output/gpus.h"
#include "cli/output/json.h"
#include "cli/output/ranks.h"
#include "cli/output/render.h"
#include "cli/output/text.h"
#include "cli/select.h"
#include "cli/session.h"
#include "cli/verbs/verbs.h"
#include "core/spec/quantity.h"
#include "wire/job_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kTasksShown = 20;
constexpr std::uint32_t kRanksShown = 64;
// Programs want them all; a million would not fit into the memory of a small machine.
constexpr std::uint32_t kTasksInJson = 10'000;
constexpr std::size_t kPage = 1000;

constexpr Option kOptions[] = {
    {"limit", 'n', Kind::kValue, "N", "show at most N tasks (default 20, with --json 10000)", {}},
    {"env", 0, Kind::kFlag, {}, "with --json: the environment too", {}},
    {"quiet", 'q', Kind::kFlag, {}, "print only the state", {}},
    kJsonOption,
    kHelpOption,
};
constexpr OptionGroup kGroups[] = {{"Options", kOptions}};
constexpr Example kExamples[] = {{"tutti show last", "the newest job"},
                                 {"tutti show 12.7", "task 7 of job 12"}};

json::array tasks_in(json::value& answer) {
  auto* tasks = answer.as_object().if_contains("tasks");
  return tasks != nullptr && tasks->is_array() ? std::move(tasks->as_array()) : json::array();
}

// Adds tasks, page after page, until there are `most` of them. `filter` is empty or ends with "&".
Result<void> add_tasks(Client& client, std::uint64_t job, std::string_view filter, std::size_t most,
                       json::array& tasks) {
  std::string from;
  while (tasks.size() < most) {
    auto answer = client.request("GET",
                                 fmt::format("/v1/jobs/{}/tasks?{}limit={}{}", job, filter,
                                             std::min(most - tasks.size(), kPage), from),
                                 {});
    if (!answer) return answer.error();
    const auto next = integer_at(*answer, "next_from");
    for (json::value& task : tasks_in(*answer)) tasks.push_back(std::move(task));
    if (!next) break;
    from = fmt::format("&from={}", *next);
  }
  return {};
}

// The ranks of a gang in their order; of other jobs those tasks first that a user looks for.
Result<json::array> fetch_tasks(Client& client, const JobView& job, std::size_t most) {
  json::array tasks;
  if (job.shape == "gang") {
    if (auto added = add_tasks(client, job.id, "", most, tasks); !added) return added.error();
    return tasks;
  }
  for (const std::string_view filter : {"state=failed&", "state=running,starting&", "state=queued&",
                                        "state=cancelled,skipped,succeeded&"}) {
    if (auto added = add_tasks(client, job.id, filter, most, tasks); !added) return added.error();
  }
  return tasks;
}

int show_task(Session& session, const ChosenJob& chosen, bool quiet) {
  auto task = fetch_task(session.client(), chosen.id, chosen.labels[0]);
  if (!task) return session.fail(task.error());
  if (session.json()) {
    print_json(session.screen(), *task);
  } else if (quiet) {
    session.screen().out(task_view(*task).state + "\n");
  } else {
    session.screen().out(render_task(chosen.id, task_view(*task), session.screen(), session.now()));
  }
  return kExitOk;
}

void print_tasks(Session& session, const JobView& job, const json::array& tasks) {
  std::vector<TaskView> views;
  for (const json::value& task : tasks) views.push_back(task_view(task));
  if (job.tasks == 1 && views.size() == 1) {
    const TaskView& task = views[0];
    session.screen().out(render_task_gpus(task));
    session.screen().out(render_retry(task, session.now()));
    if (!task.stdout_path.empty()) {
      session.screen().out(fmt::format("  {:<11}{}\n", "stdout", printable(task.stdout_path)));
      session.screen().out(fmt::format("  {:<11}{}\n", "stderr", printable(task.stderr_path)));
    }
    return;
  }
  const std::string table = job.shape == "gang"
                                ? render_rank_states(views, session.screen(), session.now())
                                : render_tasks(views, session.screen(), session.now());
  session.screen().out("\n" + table);
  const std::string first = job.shape == "gang" ? first_failure(job.id, views) : "";
  if (!first.empty()) session.screen().out("\n" + first + "\n");
  if (job.tasks > views.size()) {
    session.screen().out(
        fmt::format("... and {} more, see --limit\n", grouped(job.tasks - views.size())));
  }
}

// The groups of workers of a gang.
void print_groups(Session& session, const json::value& job) {
  const auto* spec = job.as_object().if_contains("spec");
  if (spec == nullptr) return;
  if (const auto read = spec_from_json(*spec)) session.screen().out(render_groups(*read));
}

// What it waits for, and how often it is tried again.
void print_rules(Session& session, const json::value& job) {
  const auto* spec = job.as_object().if_contains("spec");
  if (spec == nullptr || !spec->is_object()) return;
  std::string after;
  if (const auto* list = spec->as_object().if_contains("after")) {
    for (const json::value& one : list->as_array())
      after += (after.empty() ? "" : ", ") + std::string(one.as_string());
  }
  if (!after.empty()) session.screen().out(fmt::format("  {:<11}{}\n", "after", printable(after)));
  if (const auto retries = integer_at(*spec, "retries"))
    session.screen().out(fmt::format("  {:<11}{}\n", "retries", *retries));
}

// Which configuration an unfinished job got or would get, and why.
void print_configurations(Session& session, std::uint64_t job) {
  const auto answer = session.client().request("GET", fmt::format("/v1/jobs/{}/explain", job), {});
  if (!answer) return;
  session.screen().out(render_configurations(explanation_view(*answer), session.screen()));
}

int run(Session& session, const Arguments& arguments) {
  auto chosen = choose_one(session.client(), arguments.words()[0]);
  if (!chosen) return session.refuse(chosen.error());
  std::size_t most = session.json() ? kTasksInJson : kTasksShown;
  if (arguments.has("limit")) {
    auto limit = parse_count("limit", arguments.value("limit"), 1, UINT32_MAX);
    if (!limit) return session.usage_error(limit.error());
    most = *limit;
  }
  if (!chosen->labels.empty()) return show_task(session, *chosen, arguments.has("quiet"));
  auto job = session.client().request(
      "GET", fmt::format("/v1/jobs/{}{}", chosen->id, arguments.has("env") ? "?env=1" : ""), {});
  if (!job) return session.fail(job.error());
  const JobView view = job_view(*job);
  if (arguments.has("quiet") && !session.json()) {
    session.screen().out(view.state + "\n");
    return kExitOk;
  }
  if (view.shape == "gang" && !session.json() && !arguments.has("limit")) most = kRanksShown;
  auto tasks = fetch_tasks(session.client(), view, most);
  if (!tasks) return session.fail(tasks.error());
  if (session.json()) {
    // "tasks" is the number of them, in every answer about a job.
    job->as_object()["more"] = view.tasks > tasks->size();
    job->as_object()["task_list"] = std::move(*tasks);
    print_json(session.screen(), *job);
    return kExitOk;
  }
  session.screen().out(render_job(view, session.screen(), session.now()));
  if (view.shape == "gang") print_groups(session, *job);
  print_rules(session, *job);
  print_tasks(session, view, *tasks);
  if (!view.configurations.empty()) print_configurations(session, chosen->id);
  return kExitOk;
}

}  // namespace

const Verb kShowVerb{
    .name = "show",
    .aliases = kNoAliases,
    .summary = "show one job or task in full",
    .description =
        "Shows what a job is, how it stands and how it ended, and its tasks: the "
        "failed ones first, then running, queued and the rest; of a gang its ranks in order.",
    .usage = "[OPTIONS] JOB[.TASK]",
    .word_choices = "<one-job>",
    .tail = Tail::kWords,
    .least_words = 1,
    .most_words = 1,
    .groups = kGroups,
    .examples = kExamples,
    .run = run};

}  // namespace tutti
