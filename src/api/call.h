#pragma once

#include <memory>
#include <string>
#include <utility>

#include "api/http.h"
#include "api/services.h"

namespace tutti {

// One request on its way through a route. Shared by the callbacks that answer it; API thread only.
struct Call {
  const Services& services;
  Threads threads;
  HttpRequest request;
  Target target;
  Respond respond;

  void fail(const Error& error) const { respond(error_response(error)); }

  // The number in segment `position` of the path.
  Result<JobId> job_at(std::size_t position) const;
};
using CallPtr = std::shared_ptr<Call>;

// A reply for the front that runs `then` with the value on the API's thread, or answers the error.
template <typename T, typename Then>
Reply<T> reply_to(const CallPtr& call, Then then) {
  return [call, then = std::move(then)](Result<T> result) {
    call->threads.api([call, then, result = std::move(result)] {
      if (!result) return call->fail(result.error());
      then(*result);
    });
  };
}

// The index of a task's label; the error says which labels there are.
Result<std::uint32_t> index_of_label(JobId job, const TaskSet& tasks, std::int64_t label);
Result<std::uint32_t> index_of_label(JobId job, const TaskSet& tasks, std::string_view label);

// The routes' functions: each answers its call exactly once.
void get_status(const CallPtr& call);
void get_nodes(const CallPtr& call);
void set_node_state(const CallPtr& call);
void add_node(const CallPtr& call);
void remove_node(const CallPtr& call);
void check_node(const CallPtr& call);
void set_node_limit(const CallPtr& call);
void add_snapshot(const CallPtr& call);
void put_blob(const CallPtr& call);
void keep_files(const CallPtr& call);
void stop_daemon(const CallPtr& call);
void submit_jobs(const CallPtr& call);
void list_jobs(const CallPtr& call);
void get_last_job(const CallPtr& call);
void get_job(const CallPtr& call);
void list_tasks(const CallPtr& call);
void explain_job(const CallPtr& call);
void cancel_jobs(const CallPtr& call);
void retry_job(const CallPtr& call);
void prune_jobs(const CallPtr& call);
void get_log(const CallPtr& call);
void stream_job(const CallPtr& call);
void stream_events(const CallPtr& call);
void hold_lease(const CallPtr& call);
void release_lease(const CallPtr& call);
void get_gpus(const CallPtr& call);
void list_profiles(const CallPtr& call);
void get_profile(const CallPtr& call);
void forget_profile(const CallPtr& call);
void import_profiles(const CallPtr& call);
void get_speeds(const CallPtr& call);
void import_speeds(const CallPtr& call);
void forget_speeds(const CallPtr& call);

}  // namespace tutti
