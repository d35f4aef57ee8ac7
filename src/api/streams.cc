#include "api/streams.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/encode.h"
#include "api/log_file.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr Duration kLogPoll = milliseconds(50);

std::string log_event(std::int64_t label, const LogFollower::Piece& piece) {
  const char* stream = piece.stream == LogStream::kStdout ? "stdout" : "stderr";
  return event_text("log", json_text(json::object{{"task", label},
                                                  {"attempt", piece.attempt},
                                                  {"stream", stream},
                                                  {"text", text_to_json(piece.bytes)}}));
}

const char* end_verb(TaskState state) {
  switch (state) {
    case TaskState::kSucceeded:
      return "succeeded";
    case TaskState::kFailed:
      return "failed";
    case TaskState::kCancelled:
      return "was cancelled";
    default:
      return "was skipped";
  }
}

// The first of the jobs that it waited for and that ended otherwise; empty: each was retried since.
std::string why_skipped(History& history, const JobSummary& summary) {
  for (const Dependency& dependency : summary.after) {
    const auto other = history.summary(dependency.job);
    if (!other || !is_final(other->row.state) || is_met(dependency.when, other->row.state))
      continue;
    return std::string("it waited for the ") + when_name(dependency.when) + " of job " +
           std::to_string(dependency.job.value) + ", which " + end_verb(other->row.state);
  }
  return {};
}

}  // namespace

std::string event_text(std::string_view name, std::string_view data) {
  std::string text;
  text.reserve(name.size() + data.size() + 16);
  text.append("event: ").append(name).append("\ndata: ").append(data).append("\n\n");
  return text;
}

Result<std::optional<TaskRow>> only_task(History& history, const JobSummary& summary) {
  if (summary.tasks.count != 1) return std::optional<TaskRow>();
  auto row = task_row(history, {summary.row.id, 0});
  if (!row) return row.error();
  const bool untried = row->state == TaskState::kQueued && row->attempts == 0;
  if (untried) return std::optional<TaskRow>();
  return std::optional<TaskRow>(std::move(*row));
}

json::object job_object(const Services& services, const JobSummary& summary,
                        const std::optional<TaskRow>& task) {
  json::object out = job_to_json(summary, task, services.events.nodes());
  if (summary.row.state == TaskState::kSkipped)
    out["message"] = text_or_null(why_skipped(services.history, summary));
  return out;
}

ByteSource::Next LogBytes::pull(std::string& out) {
  const auto bytes =
      read_log(path_, offset_, static_cast<std::size_t>(std::min<std::uint64_t>(left_, kPiece)));
  // Descriptors may be free again soon.
  if (!bytes && bytes.error().code == ErrorCode::kExhausted) return Next::kWait;
  if (!bytes || bytes->empty()) return Next::kEnd;
  out += *bytes;
  offset_ += bytes->size();
  left_ -= bytes->size();
  return left_ > 0 ? Next::kMore : Next::kEnd;
}

std::optional<Duration> LogBytes::poll_after() const {
  return kLogPoll;
}

JobStream::JobStream(const Services& services, std::shared_ptr<JobWatch> watch, JobSummary summary,
                     JobSpec spec, const Options& options)
    : services_(services),
      watch_(std::move(watch)),
      summary_(std::move(summary)),
      spec_(std::move(spec)),
      until_(options.until) {
  for (const std::uint32_t index : options.tasks) {
    logs_.emplace_back(services_, spec_, TaskId{summary_.row.id, index}, options.tail);
  }
  watch_->wake = [this] { wake(); };
}

void JobStream::put_job(std::string_view event, std::string& out) {
  // Without the row of its task the object lacks how it ended, which the history will say later.
  const auto task = only_task(services_.history, summary_);
  out += event_text(event, json_text(job_object(services_, summary_, task ? *task : std::nullopt)));
}

bool JobStream::pull_log(std::string& out) {
  for (std::size_t tried = 0; tried < logs_.size(); ++tried) {
    LogFollower& log = logs_[next_log_];
    const auto piece = log.next();
    if (piece && !piece->bytes.empty()) {
      const std::uint32_t index = log.task().index;
      out += log_event(summary_.tasks.label(index), *piece);
      return true;
    }
    if (!piece) log.put_off(piece.error());
    next_log_ = (next_log_ + 1) % logs_.size();
  }
  return false;
}

bool JobStream::is_over() const {
  if (summary_.row.finished_at) return true;
  if (!until_) return false;
  const auto row = task_row(services_.history, {summary_.row.id, *until_});
  return row && is_final(row->state);
}

ByteSource::Next JobStream::pull(std::string& out) {
  if (watch_->changed) {
    summary_.row = watch_->row;
    watch_->changed = false;
    fresh_ = true;
  }
  if (fresh_) {
    fresh_ = false;
    over_ = is_over();
    put_job("job", out);
    if (!over_ || !logs_.empty()) return Next::kMore;
  }
  if (pull_log(out)) return Next::kMore;
  const bool stuck =
      std::any_of(logs_.begin(), logs_.end(), [](const LogFollower& log) { return log.stuck(); });
  if (!over_ || stuck) return Next::kWait;
  put_job("end", out);
  return Next::kEnd;
}

std::optional<Duration> JobStream::poll_after() const {
  const bool any = std::any_of(logs_.begin(), logs_.end(),
                               [](const LogFollower& log) { return log.worth_a_look(); });
  return any ? std::optional(kLogPoll) : std::nullopt;
}

AllStream::AllStream(const Services& services, std::shared_ptr<AllWatch> watch)
    : services_(services), watch_(std::move(watch)) {
  watch_->wake = [this] { wake(); };
}

ByteSource::Next AllStream::pull(std::string& out) {
  const std::size_t before = out.size();
  if (!begun_) {
    begun_ = true;
    out += ": changes of jobs and nodes follow\n\n";
  }
  if (watch_->merged + watch_->dropped > 0) {
    out += event_text("lagged", json_text(json::object{{"merged", watch_->merged},
                                                       {"dropped", watch_->dropped}}));
    watch_->merged = 0;
    watch_->dropped = 0;
  }
  for (const auto& [name, node] : watch_->nodes) out += event_text("node", node);
  watch_->nodes.clear();
  while (!watch_->jobs.empty() && out.size() < before + kPiece) {
    const auto first = watch_->jobs.extract(watch_->jobs.begin());
    auto summary = services_.history.summary(first.key());
    if (!summary) {  // a lease that succeeded
      out += event_text("forgotten", json_text(json::object{{"id", first.key().value}}));
      continue;
    }
    const auto task = only_task(services_.history, *summary);
    out +=
        event_text("job", json_text(job_object(services_, *summary, task ? *task : std::nullopt)));
  }
  return out.size() == before ? Next::kWait : Next::kMore;
}

}  // namespace tutti
