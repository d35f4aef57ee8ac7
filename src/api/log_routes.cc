#include <algorithm>

#include "api/call.h"
#include "api/event_hub.h"
#include "api/log_file.h"
#include "api/streams.h"
#include "core/spec/text.h"
#include "wire/most_followed.h"

namespace tutti {
namespace {

constexpr std::uint64_t kMostTail = 1'000'000'000;

// The task that a request for output means: the one named, or the only one.
Result<std::uint32_t> wanted_task(const Target& target, const JobSummary& summary) {
  const JobId job = summary.row.id;
  if (const auto label = target.query("task")) return index_of_label(job, summary.tasks, *label);
  if (summary.tasks.count == 1) return std::uint32_t{0};
  return invalid_input("job " + std::to_string(job.value) + " has " +
                       std::to_string(summary.tasks.count) + " tasks: name one with task=LABEL");
}

Result<LogStream> wanted_stream(const Target& target) {
  const auto name = target.query("stream").value_or("stdout");
  if (name == "stdout") return LogStream::kStdout;
  if (name == "stderr") return LogStream::kStderr;
  return invalid_input("stream=" + shown(name) + ": stdout or stderr is wanted");
}

// The attempt asked for, or the newest; zero when none has begun.
Result<std::uint32_t> wanted_attempt(const Call& call, const JobSummary& summary,
                                     std::uint32_t index) {
  const auto asked = query_number(call.target, "attempt", 1, UINT32_MAX);
  if (!asked) return asked.error();
  const auto row = task_row(call.services.history, {summary.row.id, index});
  if (!row) return row.error();
  if (!*asked) return row->attempts;
  if (**asked <= row->attempts) return static_cast<std::uint32_t>(**asked);
  return not_found("task " + std::to_string(summary.tasks.label(index)) + " of job " +
                   std::to_string(summary.row.id.value) + " has had " +
                   std::to_string(row->attempts) + " attempts so far");
}

Result<HttpResponse> log_response(const Call& call) {
  const auto only = call.target.allow_only({"task", "stream", "attempt", "tail"});
  if (!only) return only.error();
  const auto id = call.job_at(2);
  if (!id) return id.error();
  const auto tail = query_number(call.target, "tail", 0, kMostTail);
  if (!tail) return tail.error();
  const auto stream = wanted_stream(call.target);
  if (!stream) return stream.error();
  const auto summary = call.services.history.summary(*id);
  if (!summary) return summary.error();
  const auto index = wanted_task(call.target, *summary);
  if (!index) return index.error();
  const auto attempt = wanted_attempt(call, *summary, *index);
  if (!attempt) return attempt.error();
  const auto spec = call.services.history.spec(*id);
  if (!spec) return spec.error();

  HttpResponse response;
  response.content_type = "application/octet-stream";
  if (*attempt == 0) return response;
  const std::string path =
      log_file(call.services.log_folder, *spec, {{*id, *index}, *attempt}, *stream);
  const auto size = log_size(path);
  if (!size) return size.error();
  std::uint64_t begin = 0;
  if (*tail) {
    const auto offset = tail_offset(path, **tail);
    if (!offset) return offset.error();
    begin = std::min(*offset, *size);
  }
  response.length = *size - begin;
  if (*size > begin) response.source = std::make_shared<LogBytes>(path, begin, *size - begin);
  return response;
}

Result<std::vector<std::uint32_t>> followed_tasks(const Target& target, const JobSummary& summary) {
  std::vector<std::uint32_t> tasks;
  const auto labels = target.query("task");
  if (!labels) {
    if (summary.tasks.count == 1) tasks.push_back(0);
    return tasks;
  }
  for (const std::string_view label : split_commas(*labels)) {
    const auto index = index_of_label(summary.row.id, summary.tasks, label);
    if (!index) return index.error();
    if (std::find(tasks.begin(), tasks.end(), *index) == tasks.end()) tasks.push_back(*index);
    if (tasks.size() > kMostFollowed) {
      return invalid_input("the output of at most " + std::to_string(kMostFollowed) +
                           " tasks can be followed at once");
    }
  }
  return tasks;
}

Result<HttpResponse> stream_response(const Call& call) {
  const auto only = call.target.allow_only({"logs", "task", "tail", "until"});
  if (!only) return only.error();
  const auto id = call.job_at(2);
  if (!id) return id.error();
  const auto logs = query_flag(call.target, "logs");
  if (!logs) return logs.error();
  const auto tail = query_number(call.target, "tail", 0, kMostTail);
  if (!tail) return tail.error();
  // First the watch, then the look: so that no change falls between them.
  auto watch = call.services.events.watch(*id);
  auto summary = call.services.history.summary(*id);
  if (!summary) return summary.error();
  auto spec = call.services.history.spec(*id);
  if (!spec) return spec.error();
  JobStream::Options options;
  options.tail = *tail;
  auto tasks = followed_tasks(call.target, *summary);
  if (!tasks) return tasks.error();
  if (*logs) options.tasks = std::move(*tasks);
  if (const auto label = call.target.query("until")) {
    const auto index = index_of_label(*id, summary->tasks, *label);
    if (!index) return index.error();
    options.until = *index;
  }
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.source = std::make_shared<JobStream>(call.services, std::move(watch),
                                                std::move(*summary), std::move(*spec), options);
  return response;
}

}  // namespace

void get_log(const CallPtr& call) {
  auto response = log_response(*call);
  if (!response) return call->fail(response.error());
  call->respond(std::move(*response));
}

void stream_job(const CallPtr& call) {
  auto response = stream_response(*call);
  if (!response) return call->fail(response.error());
  call->respond(std::move(*response));
}

void stream_events(const CallPtr& call) {
  if (const auto only = call->target.allow_only({}); !only) return call->fail(only.error());
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.source = std::make_shared<AllStream>(call->services, call->services.events.watch_all());
  call->respond(std::move(response));
}

}  // namespace tutti
