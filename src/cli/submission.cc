#include "cli/submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "cli/image_builds.h"
#include "cli/output/json.h"
#include "cli/output/ranks.h"
#include "cli/output/render.h"
#include "cli/output/text.h"
#include "client/views.h"
#include "wire/job_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

std::string body_of(const json::array& jobs) {
  if (jobs.size() == 1) return json::serialize(jobs[0]);
  return json::serialize(json::object{{"jobs", jobs}});
}

Result<json::value> ask_dry_run(Session& session, const JobRequests& requests) {
  auto answer = session.client().request("POST", "/v1/jobs?dry_run=1", body_of(requests.jobs));
  if (!answer) return fault_in(requests, answer.error());
  return answer;
}

// What is known of the workers before any has a place.
void print_ranks(Session& session, const json::array& jobs) {
  for (const json::value& job : jobs) {
    if (!job.as_object().contains("workers")) continue;
    const auto spec = spec_from_json(job);
    if (spec) session.screen().out(render_ranks(*spec, session.screen()));
  }
}

// Of workers print_ranks() tells more.
void print_task_counts(Session& session, const json::value& answer, const json::array& jobs) {
  const auto* counts = answer.as_object().if_contains("tasks");
  if (counts == nullptr || !counts->is_array() || counts->as_array().size() != jobs.size()) return;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto count = counts->as_array()[i].to_number<std::uint64_t>();
    if (count < 2 || jobs[i].as_object().contains("workers")) continue;
    const std::string who = jobs.size() == 1 ? "The job" : fmt::format("Job {} of them", i + 1);
    session.screen().out(fmt::format("{} would have {} tasks.\n", who, grouped(count)));
  }
}

// Where the ranks would run, and what they would be told; of waves, those of the first.
void print_plan(Session& session, const json::value& plan, const json::value& job) {
  if (!plan.is_array() || plan.as_array().empty()) return;
  const auto spec = spec_from_json(job);
  const std::size_t ranks = plan.as_array().size();
  const bool waves = spec && ranks < spec->tasks.count;
  const std::string who =
      waves ? fmt::format("{} of them would run first,", ranks) : "they would run";
  session.screen().out(fmt::format("\nStarted now, {} here:\n{}", who,
                                   render_plan(plan.as_array(), session.screen())));
}

// Before it is too late: a retry takes what the attempt before it wrote.
void warn_of_retries(Session& session, const json::value& job) {
  if (integer_at(job, "retries").value_or(0) <= 0) return;
  for (const char* field : {"output", "error"}) {
    const std::string file = text_at(job, field);
    if (!attempts_share(file)) continue;
    session.screen().err(fmt::format(
        "tutti: each attempt overwrites {}; with %a in its name each has a file of its own\n",
        printable(file)));
  }
}

}  // namespace

bool attempts_share(std::string_view pattern) {
  if (pattern.empty() || pattern.starts_with("/dev/")) return false;
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '%') continue;
    if (pattern[++i] == 'a') return false;
  }
  return true;
}

Result<Submission> submit_jobs(Session& session, const json::array& jobs) {
  for (const json::value& job : jobs) warn_of_retries(session, job);
  auto answer = session.client().request("POST", "/v1/jobs", body_of(jobs));
  if (!answer) return answer.error();
  Submission submission;
  const auto* ids = answer->as_object().if_contains("ids");
  if (ids != nullptr && ids->is_array()) {
    for (const json::value& id : ids->as_array()) {
      submission.ids.push_back(id.to_number<std::uint64_t>());
    }
  } else if (const auto id = integer_at(*answer, "id")) {
    submission.ids.push_back(static_cast<std::uint64_t>(*id));
  }
  if (submission.ids.empty()) {
    return Error{ErrorCode::kUnsupported, "the daemon took the job but told no id; see 'tutti ls'"};
  }
  return submission;
}

Result<Submission> submit_requests(Session& session, JobRequests& requests) {
  if (auto taken = add_snapshots(session, requests); !taken) return taken.error();
  auto builds = submit_builds(session, requests);
  if (!builds) return builds.error();
  auto submission = submit_jobs(session, requests.jobs);
  if (!submission) return fault_in(requests, submission.error());
  submission->builds = std::move(*builds);
  return submission;
}

Result<void> check_jobs(Session& session, const JobRequests& requests) {
  const auto answer = ask_dry_run(session, requests);
  return answer ? Result<void>() : answer.error();
}

int print_dry_run(Session& session, const JobRequests& requests, bool quiet) {
  auto answer = ask_dry_run(session, requests);
  if (!answer) return session.fail(answer.error());
  if (session.json()) {
    print_json(session.screen(), *answer);
    return kExitOk;
  }
  const auto* list = answer->as_object().if_contains("explanations");
  if (quiet || list == nullptr || !list->is_array()) return kExitOk;
  session.screen().out("Nothing was submitted.\n");
  print_task_counts(session, *answer, requests.jobs);
  print_ranks(session, requests.jobs);
  if (const auto* plans = answer->as_object().if_contains("plans"); plans && plans->is_array()) {
    for (std::size_t i = 0; i < std::min(plans->as_array().size(), requests.jobs.size()); ++i)
      print_plan(session, plans->as_array()[i], requests.jobs[i]);
  }
  for (const json::value& element : list->as_array()) {
    ExplanationView explanation = explanation_view(element);
    explanation.job = 0;
    session.screen().out(render_explanation(explanation, session.screen(), session.now()));
  }
  return kExitOk;
}

}  // namespace tutti
