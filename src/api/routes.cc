#include "api/routes.h"

#include <algorithm>
#include <array>
#include <string>

#include "api/call.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

struct Entry {
  Route route;
  void (*answer)(const CallPtr& call);
  std::uint64_t body_limit;
};

constexpr std::array<Entry, 33> kEntries = {{
    {{"GET", "/v1/status", "getStatus"}, get_status, 0},
    {{"POST", "/v1/jobs", "submitJobs"}, submit_jobs, 256 * kMiB},
    {{"GET", "/v1/jobs", "listJobs"}, list_jobs, 0},
    {{"GET", "/v1/jobs/last", "getLastJob"}, get_last_job, 0},
    {{"GET", "/v1/jobs/{id}", "getJob"}, get_job, 0},
    {{"GET", "/v1/jobs/{id}/tasks", "listTasks"}, list_tasks, 0},
    {{"GET", "/v1/jobs/{id}/logs", "getLog"}, get_log, 0},
    {{"GET", "/v1/jobs/{id}/stream", "streamJob"}, stream_job, 0},
    {{"GET", "/v1/jobs/{id}/explain", "explainJob"}, explain_job, 0},
    {{"POST", "/v1/jobs/{id}/retry", "retryJob"}, retry_job, 16 * kMiB},
    {{"POST", "/v1/cancel", "cancelJobs"}, cancel_jobs, 16 * kMiB},
    {{"POST", "/v1/prune", "pruneJobs"}, prune_jobs, 16 * kMiB},
    {{"GET", "/v1/nodes", "listNodes"}, get_nodes, 0},
    {{"POST", "/v1/nodes", "addNode"}, add_node, kMiB},
    {{"DELETE", "/v1/nodes/{name}", "removeNode"}, remove_node, kMiB},
    {{"POST", "/v1/nodes/{name}/state", "setNodeState"}, set_node_state, kMiB},
    {{"POST", "/v1/nodes/{name}/limit", "setNodeLimit"}, set_node_limit, kMiB},
    {{"POST", "/v1/nodes/{name}/check", "checkNode"}, check_node, kMiB},
    {{"GET", "/v1/events", "streamEvents"}, stream_events, 0},
    {{"POST", "/v1/snapshots", "addSnapshot"}, add_snapshot, 256 * kMiB},
    {{"PUT", "/v1/blobs/{sha256}", "putBlob"}, put_blob, 256 * kMiB},
    {{"POST", "/v1/blobs", "keepFiles"}, keep_files, 64 * kMiB},
    {{"POST", "/v1/leases", "holdLease"}, hold_lease, kMiB},
    {{"DELETE", "/v1/leases/{id}", "releaseLease"}, release_lease, kMiB},
    {{"GET", "/v1/gpus", "getGpus"}, get_gpus, 0},
    {{"GET", "/v1/profiles", "listProfiles"}, list_profiles, 0},
    {{"POST", "/v1/profiles", "importProfiles"}, import_profiles, 16 * kMiB},
    {{"GET", "/v1/profiles/{kind}", "getProfile"}, get_profile, 0},
    {{"DELETE", "/v1/profiles/{kind}", "forgetProfile"}, forget_profile, kMiB},
    {{"GET", "/v1/speeds", "getSpeeds"}, get_speeds, 0},
    {{"POST", "/v1/speeds", "importSpeeds"}, import_speeds, 16 * kMiB},
    {{"DELETE", "/v1/speeds/{model}", "forgetSpeeds"}, forget_speeds, kMiB},
    {{"POST", "/v1/daemon/stop", "stopDaemon"}, stop_daemon, kMiB},
}};

bool matches(std::string_view pattern, const std::vector<std::string>& segments) {
  std::size_t index = 0;
  while (!pattern.empty()) {
    pattern.remove_prefix(1);  // the slash
    const std::string_view part = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(part.size());
    if (index == segments.size()) return false;
    const std::string& segment = segments[index++];
    if (part.front() == '{' ? segment.empty() : segment != part) return false;
  }
  return index == segments.size();
}

// The entry for this method and path. When only the path fits, `allowed` names its methods.
const Entry* find_entry(std::string_view method, const std::vector<std::string>& segments,
                        std::string& allowed) {
  // "/v1/jobs/last" stands before "/v1/jobs/{id}", and the first that fits counts.
  for (const Entry& entry : kEntries) {
    if (!matches(entry.route.pattern, segments)) continue;
    if (entry.route.method == method) return &entry;
    if (allowed.find(entry.route.method) != allowed.npos) continue;
    if (!allowed.empty()) allowed += ", ";
    allowed += entry.route.method;
  }
  return nullptr;
}

HttpResponse no_route(const HttpRequest& request, const std::string& allowed) {
  if (allowed.empty()) {
    return error_response(not_found("there is nothing at " + shown(request.target) +
                                    "; docs/api/openapi.yaml lists what there is"));
  }
  HttpResponse response =
      error_response(405, {ErrorCode::kUnsupported, shown(request.target) + " takes " + allowed +
                                                        ", not " + shown(request.method)});
  response.allow = allowed;
  return response;
}

// The controller may hold the last reference. What hangs on a call, such as its connection, belongs
// to the API's thread: so the call is brought back there to die.
CallPtr new_call(Call call) {
  return {new Call(std::move(call)), [](Call* last) {
            const Threads::Post api = last->threads.api;
            api([owned = std::shared_ptr<Call>(last)] {});
          }};
}

}  // namespace

std::vector<Route> routes() {
  std::vector<Route> all;
  for (const Entry& entry : kEntries) all.push_back(entry.route);
  return all;
}

std::uint64_t body_limit(std::string_view method, std::string_view target) {
  const auto parsed = parse_target(target);
  std::string allowed;
  const Entry* entry = parsed ? find_entry(method, parsed->segments, allowed) : nullptr;
  // A little for everybody, so that a body that is not wanted is answered and not cut off.
  return std::max(entry == nullptr ? 0 : entry->body_limit, kMiB);
}

void dispatch(const Services& services, const Threads& threads, HttpRequest request,
              Respond respond) {
  auto target = parse_target(request.target);
  if (!target) return respond(error_response(target.error()));
  std::string allowed;
  const Entry* entry = find_entry(request.method, target->segments, allowed);
  if (entry == nullptr) return respond(no_route(request, allowed));
  entry->answer(
      new_call({services, threads, std::move(request), std::move(*target), std::move(respond)}));
}

Result<JobId> Call::job_at(std::size_t position) const {
  const auto id = parse_digits(target.segments[position], INT64_MAX);
  if (!id || *id == 0) {
    return invalid_input(shown(target.segments[position]) +
                         " is not a job's id; ids are numbers from 1");
  }
  return JobId(*id);
}

Result<std::uint32_t> index_of_label(JobId job, const TaskSet& tasks, std::int64_t label) {
  if (const auto index = tasks.index_of(label)) return *index;
  const std::string id = std::to_string(job.value);
  std::string known = "its only task is " + std::to_string(tasks.label(0));
  if (tasks.count > 1) {
    known = "its tasks are " + std::to_string(tasks.label(0)) + "-" +
            std::to_string(tasks.label(tasks.count - 1));
    if (tasks.step != 1) known += ", every " + std::to_string(tasks.step);
  }
  return not_found("job " + id + " has no task " + std::to_string(label) + ": " + known);
}

Result<std::uint32_t> index_of_label(JobId job, const TaskSet& tasks, std::string_view label) {
  const bool negative = label.starts_with('-');
  const auto number = parse_digits(label.substr(negative ? 1 : 0), INT64_MAX);
  if (!number) return invalid_input("task=" + shown(label) + ": a task's number is wanted");
  const auto value = static_cast<std::int64_t>(*number);
  return index_of_label(job, tasks, negative ? -value : value);
}

}  // namespace tutti
