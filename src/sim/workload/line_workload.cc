#include "sim/workload/line_workload.h"

#include <charconv>
#include <cmath>
#include <fstream>

#include "core/spec/csv.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::size_t kLongestLine = 64 * 1024;

class StreamedWorkload final : public Workload {
 public:
  StreamedWorkload(std::string path, std::unique_ptr<TraceLineReader> reader)
      : path_(std::move(path)), reader_(std::move(reader)) {}

  Result<std::optional<WorkloadJob>> next() override {
    Result<std::optional<WorkloadJob>> job = next_as_written();
    if (job && *job) (*job)->submit -= first_;
    return job;
  }

  Result<void> rewind() override {
    file_ = std::ifstream(path_, std::ios::binary);
    number_ = 0;
    if (!file_) return not_found(path_ + ": cannot be read");
    return {};
  }

  // Whether its jobs are in order.
  Result<bool> check() {
    if (const Result<void> begun = rewind(); !begun) return begun.error();
    bool sorted = true;
    Duration last;
    for (;;) {
      const Result<std::optional<WorkloadJob>> job = next_as_written();
      if (!job) return job.error();
      if (!*job) break;
      const Duration submit = (*job)->submit;
      if (jobs++ == 0) first_ = submit;
      sorted = sorted && (jobs == 1 || submit >= last);
      first_ = std::min(first_, submit);
      last = submit;
    }
    starts_at = first_;
    cluster = reader_->cluster();
    left_out = reader_->left_out();
    if (jobs == 0) return invalid_input(path_ + ": it has no jobs that could be simulated");
    return sorted;
  }

 private:
  Result<std::optional<WorkloadJob>> next_as_written() {
    while (std::getline(file_, line_)) {
      ++number_;
      if (!line_.empty() && line_.back() == '\r') line_.pop_back();
      if (line_.size() > kLongestLine) return line_error(path_, number_, "this line is too long");
      const std::string_view line = number_ == 1 ? without_byte_order_mark(line_) : line_;
      Result<std::optional<WorkloadJob>> job = reader_->read(line, number_);
      if (!job || *job) return job;
    }
    if (file_.bad()) return Error{ErrorCode::kIo, path_ + ": cannot be read to its end"};
    return std::optional<WorkloadJob>();
  }

  std::string path_;
  std::unique_ptr<TraceLineReader> reader_;
  std::ifstream file_;
  std::string line_;
  std::uint64_t number_ = 0;
  Duration first_;
};

}  // namespace

Result<std::unique_ptr<Workload>> open_lines(const std::string& path,
                                             std::unique_ptr<TraceLineReader> reader) {
  auto streamed = std::make_unique<StreamedWorkload>(path, std::move(reader));
  const Result<bool> sorted = streamed->check();
  if (!sorted) return sorted.error();
  if (const Result<void> begun = streamed->rewind(); !begun) return begun.error();
  if (*sorted) return std::unique_ptr<Workload>(std::move(streamed));
  std::vector<WorkloadJob> jobs;
  for (;;) {
    Result<std::optional<WorkloadJob>> job = streamed->next();
    if (!job) return job.error();
    if (!*job) break;
    jobs.push_back(**std::move(job));
  }
  std::unique_ptr<Workload> listed = workload_of(std::move(jobs));
  listed->cluster = streamed->cluster;
  listed->left_out = streamed->left_out;
  listed->starts_at = streamed->starts_at;
  return listed;
}

Error line_error(const std::string& file, std::uint64_t line, const std::string& why) {
  return invalid_input(file + ":" + std::to_string(line) + ": " + why);
}

Result<Duration> trace_seconds(std::string_view text) {
  constexpr std::int64_t kMost = std::int64_t{100} * 366 * 86400;
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc::invalid_argument || end != text.data() + text.size() || std::isnan(number))
    return invalid_input(shown(text) + " is no number");
  if (number < -1) return invalid_input(shown(text) + " is less than -1");
  if (code != std::errc() || number > kMost)
    return invalid_input(shown(text) + " is too large (at most " + std::to_string(kMost) + ")");
  return Duration(std::llround(number * 1e6));
}

}  // namespace tutti
