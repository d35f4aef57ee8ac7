#include <algorithm>
#include <boost/json.hpp>

#include "api/call.h"
#include "api/encode.h"
#include "api/event_hub.h"
#include "api/log_file.h"
#include "api/states.h"
#include "core/spec/command_line.h"

namespace tutti {
namespace {

namespace json = boost::json;

// A page ends early when its commands are so long that an answer would not be bounded.
constexpr std::size_t kMostCommandBytes = 4 << 20;

// Reads the lines of a batch in ascending order, some at a time.
class LineReader {
 public:
  LineReader(History& history, JobId job, std::uint32_t count)
      : history_(history), job_(job), count_(count) {}

  Result<std::string> line(std::uint32_t index) {
    if (index < first_ || index - first_ >= lines_.size()) {
      // Few at first: lines may be a megabyte long.
      const std::uint32_t wanted = lines_.empty() || longest_ > 4096 ? 8 : 512;
      auto lines = history_.lines(job_, index, std::min(wanted, count_ - index));
      if (!lines) return lines.error();
      if (lines->empty()) return Error{ErrorCode::kCorrupt, "the batch lacks one of its lines"};
      first_ = index;
      lines_ = std::move(*lines);
      for (const auto& line : lines_) longest_ = std::max(longest_, line.size());
    }
    return std::move(lines_[index - first_]);
  }

 private:
  History& history_;
  JobId job_;
  std::uint32_t count_;
  std::uint32_t first_ = 0;
  std::vector<std::string> lines_;
  std::size_t longest_ = 0;
};

// What is needed to describe any task of one job.
struct JobView {
  JobSummary summary;
  JobSpec spec;
};

Result<TaskPlace> place_of(const Services& services, const JobView& job, const TaskRow& row,
                           LineReader& lines) {
  TaskPlace place;
  const std::uint32_t index = row.task.index;
  place.label = job.summary.tasks.label(index);
  place.command = job.summary.command;
  if (job.summary.tasks.shape == TaskSet::Shape::kBatch) {
    const auto& numbers = job.spec.line_numbers;
    place.line = index < numbers.size() ? numbers[index] : static_cast<std::uint32_t>(place.label);
    auto line = lines.line(index);
    if (!line) return line.error();
    place.command = std::move(*line);
  }
  if (!job.spec.gang.workers.empty()) {
    const WorkerGroup& workers = workers_of_rank(job.spec.gang, index);
    place.group = workers.name;
    if (!workers.command.empty()) place.command = command_text(workers.command);
  }
  if (row.attempts > 0) {
    const AttemptId attempt{row.task, row.attempts};
    place.stdout_path = log_file(services.log_folder, job.spec, attempt, LogStream::kStdout);
    place.stderr_path = log_file(services.log_folder, job.spec, attempt, LogStream::kStderr);
  }
  return place;
}

Result<TaskFilter> filter_of(const Target& target, const JobSummary& summary) {
  TaskFilter filter;
  auto states = states_of(target);
  if (!states) return states.error();
  filter.states = std::move(*states);
  if (const auto label = target.query("from")) {
    const auto index = index_of_label(summary.row.id, summary.tasks, *label);
    if (!index) return index.error();
    filter.from = *index;
  }
  const auto limit = query_number(target, "limit", 1, kMostListed);
  if (!limit) return limit.error();
  filter.limit = static_cast<std::uint32_t>(limit->value_or(filter.limit));
  return filter;
}

Result<json::value> task_page(const Services& services, const JobView& job,
                              const std::vector<TaskRow>& rows, std::uint32_t limit) {
  LineReader lines(services.history, job.summary.row.id, job.summary.tasks.count);
  json::array list;
  json::value next;
  std::size_t bytes = 0;
  for (const TaskRow& row : rows) {
    if (list.size() == limit || bytes > kMostCommandBytes) {
      next = job.summary.tasks.label(row.task.index);
      break;
    }
    const auto place = place_of(services, job, row, lines);
    if (!place) return place.error();
    bytes += place->command.size();
    list.push_back(task_to_json(row, *place, services.events.nodes()));
  }
  return json::value(json::object{{"tasks", std::move(list)}, {"next_from", next}});
}

}  // namespace

void list_tasks(const CallPtr& call) {
  const auto only = call->target.allow_only({"state", "from", "limit"});
  if (!only) return call->fail(only.error());
  const auto id = call->job_at(2);
  if (!id) return call->fail(id.error());
  auto summary = call->services.history.summary(*id);
  if (!summary) return call->fail(summary.error());
  auto filter = filter_of(call->target, *summary);
  if (!filter) return call->fail(filter.error());
  const std::uint32_t limit = filter->limit++;  // one more tells whether another page follows
  auto spec = call->services.history.spec(*id);
  if (!spec) return call->fail(spec.error());
  const auto rows = call->services.history.tasks(*id, *filter);
  if (!rows) return call->fail(rows.error());
  const auto page =
      task_page(call->services, {std::move(*summary), std::move(*spec)}, *rows, limit);
  if (!page) return call->fail(page.error());
  call->respond(json_response(200, *page));
}

}  // namespace tutti
