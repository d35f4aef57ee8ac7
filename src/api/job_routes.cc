#include <unistd.h>

#include <array>
#include <boost/json.hpp>

#include "api/call.h"
#include "api/encode.h"
#include "api/event_hub.h"
#include "api/states.h"
#include "api/streams.h"
#include "base/home.h"
#include "base/random_word.h"
#include "control/snapshots.h"
#include "core/spec/rank_programs.h"
#include "core/spec/text.h"
#include "core/spec/validate.h"
#include "wire/job_json.h"
#include "wire/json_fields.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

// What a submission that does not come from the command line leaves out: without a work directory
// and a PATH hardly any command runs.
void fill_from_peer(JobSpec& spec, const Peer& peer) {
  spec.user = peer.user;
  if (spec.workdir.empty()) spec.workdir = peer.home.empty() ? "/" : peer.home;
  if (spec.env.empty()) {
    spec.env = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME=" + (peer.home.empty() ? "/" : peer.home), "USER=" + peer.user};
  }
}

// Of a job that was submitted from within another, the submitter's key is not its own.
void give_key(JobSpec& spec) {
  if (!has_rank_program(spec.gang.framework)) return;
  const std::string name = std::string(kJobKey) + "=";
  const std::string entry = name + random_word();
  for (std::vector<std::string>* env : {&spec.env, &spec.remote_env}) {
    std::erase_if(*env, [&](const std::string& other) { return other.starts_with(name); });
    env->push_back(entry);
  }
}

Result<JobSpec> read_spec(const json::value& value, const Peer& peer) {
  auto spec = spec_from_json(value);
  if (!spec) return spec;
  fill_from_peer(*spec, peer);
  fill_defaults(*spec);
  if (const auto valid = validate(*spec); !valid) return valid.error();
  return spec;
}

Result<std::vector<JobSpec>> read_specs(const json::value& body, const Peer& peer) {
  const auto* object = body.if_object();
  const auto* list = object != nullptr ? object->if_contains("jobs") : nullptr;
  std::vector<JobSpec> specs;
  if (list == nullptr) {
    auto spec = read_spec(body, peer);
    if (!spec) return spec.error();
    specs.push_back(std::move(*spec));
    return specs;
  }
  const std::string_view known[] = {"jobs"};
  if (const auto only = object_from_json(body, "a list of jobs", known); !only) return only.error();
  const auto* array = list->if_array();
  if (array == nullptr || array->empty()) {
    return invalid_input("jobs must be an array of at least one job");
  }
  for (const auto& element : *array) {
    auto spec = read_spec(element, peer);
    if (!spec) {
      return Error{spec.error().code,
                   "job " + std::to_string(specs.size() + 1) + ": " + spec.error().message};
    }
    specs.push_back(std::move(*spec));
  }
  return specs;
}

HttpResponse submitted_response(const Submitted& submitted) {
  json::array ids;
  for (const JobId job : submitted.jobs) ids.emplace_back(job.value);
  const json::value first = ids.empty() ? json::value() : ids.front();
  return json_response(201, json::object{{"id", first}, {"ids", std::move(ids)}});
}

HttpResponse dry_run_response(const Submitted& submitted, const std::vector<TaskSet>& tasks,
                              TimePoint now) {
  json::array explanations;
  for (std::size_t i = 0; i < submitted.explanations.size(); ++i) {
    explanations.push_back(explanation_to_json(submitted.explanations[i],
                                               i < tasks.size() ? tasks[i] : TaskSet(), now));
  }
  json::array plans;
  for (const std::vector<RankPlan>& plan : submitted.plans) plans.push_back(plan_to_json(plan));
  json::array counts;
  for (const TaskSet& set : tasks) counts.emplace_back(set.count);
  return json_response(200, json::object{{"dry_run", true},
                                         {"tasks", std::move(counts)},
                                         {"explanations", std::move(explanations)},
                                         {"plans", std::move(plans)}});
}

Result<std::vector<JobId>> ids_of(const Target& target) {
  std::vector<JobId> ids;
  if (const auto named = target.named("ids"); !named) return named.error();
  const auto text = target.query("ids");
  if (!text) return ids;
  for (const std::string_view word : split_commas(*text)) {
    const auto id = parse_digits(word, INT64_MAX);
    if (!id || *id == 0) return invalid_input("ids=" + shown(word) + ": a job's id is wanted");
    ids.push_back(JobId(*id));
  }
  return ids;
}

Result<JobFilter> filter_of(const Target& target) {
  const auto only = target.allow_only({"state", "user", "name", "ids", "before", "limit"});
  if (!only) return only.error();
  JobFilter filter;
  auto states = states_of(target);
  if (!states) return states.error();
  auto ids = ids_of(target);
  if (!ids) return ids.error();
  const auto before = query_number(target, "before", 1, INT64_MAX);
  if (!before) return before.error();
  const auto limit = query_number(target, "limit", 1, kMostListed);
  if (!limit) return limit.error();
  filter.states = std::move(*states);
  filter.ids = std::move(*ids);
  filter.user = target.query("user").value_or("");
  filter.name = target.query("name").value_or("");
  filter.before = JobId(before->value_or(0));
  filter.limit = static_cast<std::uint32_t>(limit->value_or(filter.limit));
  return filter;
}

Result<json::object> object_of(const Services& services, const JobSummary& summary) {
  const auto task = only_task(services.history, summary);
  if (!task) return task.error();
  return job_object(services, summary, *task);
}

// The copy of its work directory in which a job's tasks run here, once it was made.
json::value copy_of(const Services& services, JobId job) {
  const std::string folder = work_path(services.facts().home, job.value);
  return ::access(folder.c_str(), F_OK) == 0 ? text_to_json(folder) : json::value();
}

// Otherwise every task of it would fail at its start.
Result<void> check_snapshots(const Services& services, const std::vector<JobSpec>& jobs) {
  for (const JobSpec& spec : jobs) {
    if (spec.snapshot.empty()) continue;
    if (services.snapshots == nullptr || !services.snapshots->use(spec.snapshot))
      return invalid_input("snapshot " + shown(spec.snapshot) +
                           ": there is none; send its files to POST /v1/snapshots first");
  }
  return {};
}

// The tasks that a request names by their labels.
Result<Selection> selection_of(const Services& services, JobId job, const json::value* labels) {
  Selection selection{job, {}};
  if (labels == nullptr) return selection;
  const auto* array = labels->if_array();
  if (array == nullptr || array->empty()) {
    return invalid_input("tasks must be an array of at least one task's number");
  }
  const auto summary = services.history.summary(job);
  if (!summary) return summary.error();
  for (const auto& element : *array) {
    const auto label = integer_from_json(element, "tasks", INT64_MIN, INT64_MAX);
    if (!label) return label.error();
    const auto index = index_of_label(job, summary->tasks, *label);
    if (!index) return index.error();
    selection.tasks.push_back(*index);
  }
  return selection;
}

Result<Selection> selection_of(const Services& services, const json::value& value) {
  constexpr std::array<std::string_view, 2> kKeys = {"id", "tasks"};
  const auto object = object_from_json(value, "a selected job", kKeys);
  if (!object) return object.error();
  const auto* id_value = (*object)->if_contains("id");
  if (id_value == nullptr) return invalid_input("a selected job needs an id");
  const auto id = integer_from_json(*id_value, "id", 1, INT64_MAX);
  if (!id) return id.error();
  return selection_of(services, JobId(static_cast<std::uint64_t>(*id)),
                      (*object)->if_contains("tasks"));
}

// What to cancel; nothing means all.
Result<std::optional<std::vector<Selection>>> cancel_of(const Services& services,
                                                        std::string_view body) {
  constexpr std::array<std::string_view, 2> kKeys = {"jobs", "all"};
  const auto value = parse_json(body);
  if (!value) return value.error();
  const auto object = object_from_json(*value, "a cancel request", kKeys);
  if (!object) return object.error();
  const auto* all = (*object)->if_contains("all");
  const auto* jobs = (*object)->if_contains("jobs");
  if ((all == nullptr) == (jobs == nullptr)) {
    return invalid_input("a cancel request needs either jobs or all");
  }
  if (all != nullptr) {
    const auto truth = bool_from_json(*all, "all");
    if (!truth) return truth.error();
    if (!*truth) return invalid_input("all must be true; name jobs otherwise");
    return std::optional<std::vector<Selection>>();
  }
  const auto* array = jobs->if_array();
  if (array == nullptr || array->empty()) {
    return invalid_input("jobs must be an array of at least one selected job");
  }
  std::vector<Selection> selections;
  for (const auto& element : *array) {
    auto selection = selection_of(services, element);
    if (!selection) return selection.error();
    selections.push_back(std::move(*selection));
  }
  return std::optional(std::move(selections));
}

Reply<Changed> changed_reply(const CallPtr& call) {
  return reply_to<Changed>(call, [call](const Changed& changed) {
    call->respond(json_response(200, changed_to_json(changed)));
  });
}

}  // namespace

void submit_jobs(const CallPtr& call) {
  if (const auto only = call->target.allow_only({"dry_run"}); !only) {
    return call->fail(only.error());
  }
  const auto dry_run = query_flag(call->target, "dry_run");
  if (!dry_run) return call->fail(dry_run.error());
  std::vector<JobSpec> jobs;
  {
    const auto body = parse_json(call->request.body);
    if (!body) return call->fail(body.error());
    call->request.body = {};
    auto specs = read_specs(*body, call->request.peer);
    if (!specs) return call->fail(specs.error());
    jobs = std::move(*specs);
  }
  if (!*dry_run) {
    const auto kept = check_snapshots(call->services, jobs);
    if (!kept) return call->fail(kept.error());
    for (JobSpec& spec : jobs) give_key(spec);
    return call->services.front.submit(
        std::move(jobs), false, reply_to<Submitted>(call, [call](const Submitted& submitted) {
          call->respond(submitted_response(submitted));
        }));
  }
  std::vector<TaskSet> tasks;
  for (JobSpec& spec : jobs) {
    fill_defaults(spec);  // of lines it makes tasks
    tasks.push_back(spec.tasks);
  }
  call->services.front.submit(
      std::move(jobs), true,
      reply_to<Submitted>(call, [call, tasks = std::move(tasks)](const Submitted& submitted) {
        call->respond(dry_run_response(submitted, tasks, call->services.clock.now()));
      }));
}

void list_jobs(const CallPtr& call) {
  auto filter = filter_of(call->target);
  if (!filter) return call->fail(filter.error());
  const std::uint32_t limit = filter->limit++;  // one more tells whether another page follows
  auto jobs = call->services.history.list(*filter);
  if (!jobs) return call->fail(jobs.error());
  const bool more = jobs->size() > limit;
  if (more) jobs->resize(limit);
  json::array list;
  for (const JobSummary& summary : *jobs) {
    auto object = object_of(call->services, summary);
    if (!object) return call->fail(object.error());
    list.push_back(std::move(*object));
  }
  const json::value next = more ? json::value(jobs->back().row.id.value) : json::value();
  call->respond(json_response(200, json::object{{"jobs", std::move(list)}, {"next_before", next}}));
}

void get_last_job(const CallPtr& call) {
  const auto job = call->services.history.last_job();
  if (!job) return call->fail(job.error());
  call->respond(json_response(200, json::object{{"id", job->value}}));
}

void get_job(const CallPtr& call) {
  if (const auto only = call->target.allow_only({"env"}); !only) return call->fail(only.error());
  const auto id = call->job_at(2);
  if (!id) return call->fail(id.error());
  const auto with_env = query_flag(call->target, "env");
  if (!with_env) return call->fail(with_env.error());
  const auto summary = call->services.history.summary(*id);
  if (!summary) return call->fail(summary.error());
  const auto spec = call->services.history.spec(*id);
  if (!spec) return call->fail(spec.error());
  auto object = object_of(call->services, *summary);
  if (!object) return call->fail(object.error());
  (*object)["spec"] = spec_to_json(*spec, *with_env);
  (*object)["copy"] = copy_of(call->services, *id);
  call->respond(json_response(200, *object));
}

void explain_job(const CallPtr& call) {
  if (const auto only = call->target.allow_only({"task"}); !only) return call->fail(only.error());
  const auto id = call->job_at(2);
  if (!id) return call->fail(id.error());
  const auto summary = call->services.history.summary(*id);
  if (!summary) return call->fail(summary.error());
  std::uint32_t task = Front::kAnyTask;
  if (const auto label = call->target.query("task")) {
    const auto index = index_of_label(*id, summary->tasks, *label);
    if (!index) return call->fail(index.error());
    task = *index;
  }
  call->services.front.explain(
      *id, task,
      reply_to<Explanation>(call, [call, tasks = summary->tasks](const Explanation& explanation) {
        const TimePoint now = call->services.clock.now();
        call->respond(json_response(200, explanation_to_json(explanation, tasks, now)));
      }));
}

void cancel_jobs(const CallPtr& call) {
  auto selections = cancel_of(call->services, call->request.body);
  if (!selections) return call->fail(selections.error());
  if (!*selections) return call->services.front.cancel_all(changed_reply(call));
  call->services.front.cancel(std::move(**selections), changed_reply(call));
}

void retry_job(const CallPtr& call) {
  const auto id = call->job_at(2);
  if (!id) return call->fail(id.error());
  const auto body = parse_json(call->request.body.empty() ? "{}" : call->request.body);
  if (!body) return call->fail(body.error());
  constexpr std::array<std::string_view, 1> kKeys = {"tasks"};
  const auto object = object_from_json(*body, "a retry request", kKeys);
  if (!object) return call->fail(object.error());
  auto selection = selection_of(call->services, *id, (*object)->if_contains("tasks"));
  if (!selection) return call->fail(selection.error());
  call->services.front.retry(std::move(*selection), changed_reply(call));
}

}  // namespace tutti
