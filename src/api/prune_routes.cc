#include <array>
#include <boost/json.hpp>

#include "api/call.h"
#include "control/prune_desk.h"
#include "core/model/prune_age.h"
#include "wire/json_fields.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

const Error kNoPrunes{ErrorCode::kUnsupported, "this daemon forgets nothing"};

// A century: what a day was, and no number that a time cannot hold.
constexpr std::int64_t kLongestAge = std::int64_t{100} * 366 * 24 * 3600;

Result<std::vector<JobId>> jobs_of(const json::value& value) {
  const auto* array = value.if_array();
  if (array == nullptr || array->empty())
    return invalid_input("jobs must be an array of at least one job's id");
  std::vector<JobId> jobs;
  for (const auto& element : *array) {
    const auto id = integer_from_json(element, "jobs", 1, INT64_MAX);
    if (!id) return id.error();
    jobs.push_back(JobId(static_cast<std::uint64_t>(*id)));
  }
  return jobs;
}

Result<PruneRequest> request_of(std::string_view body, TimePoint now) {
  constexpr std::array<std::string_view, 3> kKeys = {"jobs", "all", "older_than_s"};
  const auto value = parse_json(body);
  if (!value) return value.error();
  const auto object = object_from_json(*value, "a prune request", kKeys);
  if (!object) return object.error();
  const auto* all = (*object)->if_contains("all");
  const auto* jobs = (*object)->if_contains("jobs");
  if ((all == nullptr) == (jobs == nullptr))
    return invalid_input("a prune request needs either jobs or all");
  PruneRequest request{.before = now - kPruneAge};
  if (const auto* age = (*object)->if_contains("older_than_s")) {
    const auto given = integer_from_json(*age, "older_than_s", 0, kLongestAge);
    if (!given) return given.error();
    request.before = now - seconds(*given);
  }
  if (jobs != nullptr) {
    auto chosen = jobs_of(*jobs);
    if (!chosen) return chosen.error();
    request.jobs = std::move(*chosen);
    return request;
  }
  const auto truth = bool_from_json(*all, "all");
  if (!truth) return truth.error();
  if (!*truth) return invalid_input("all must be true; name jobs otherwise");
  return request;
}

json::object pruned_to_json(const Pruned& pruned, bool dry_run) {
  json::array jobs;
  for (const JobId job : pruned.jobs) jobs.emplace_back(job.value);
  return {
      {"dry_run", dry_run},
      {"jobs", std::move(jobs)},
      {"tasks", pruned.tasks},
      {"files", pruned.files.count},
      {"bytes", pruned.files.bytes},
      {"stuck_files", pruned.files.stuck},
      {"kept",
       {{"unfinished", pruned.unfinished}, {"needed", pruned.needed}, {"recent", pruned.recent}}}};
}

}  // namespace

void prune_jobs(const CallPtr& call) {
  if (call->services.prunes == nullptr) return call->fail(kNoPrunes);
  if (const auto only = call->target.allow_only({"dry_run"}); !only)
    return call->fail(only.error());
  const auto dry_run = query_flag(call->target, "dry_run");
  if (!dry_run) return call->fail(dry_run.error());
  auto request = request_of(call->request.body, call->services.clock.now());
  if (!request) return call->fail(request.error());
  request->dry_run = *dry_run;
  call->services.prunes->prune(std::move(*request),
                               reply_to<Pruned>(call, [call, dry = *dry_run](const Pruned& pruned) {
                                 call->respond(json_response(200, pruned_to_json(pruned, dry)));
                               }));
}

}  // namespace tutti
