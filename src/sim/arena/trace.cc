#include "sim/arena/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/spec/text.h"
#include "sim/csv_table.h"

namespace tutti {
namespace {

constexpr std::array<std::string_view, 8> kTraceColumns{
    "job_id",   "submission_time", "num_iteration", "model_name",
    "deadline", "batch_size",      "num_gpu",       "gpu_type"};
enum TraceColumn : std::size_t {
  kName,
  kSubmit,
  kIterations,
  kModel,
  kDeadline,
  kBatch,
  kDevices,
  kType
};
constexpr std::uint64_t kMostTraceSeconds = 1'000'000'000'000;
constexpr std::uint64_t kMostIterations = 1'000'000'000'000;

// Reads the rows of a trace. The first thing that is wrong stays its error.
class TraceReader {
 public:
  explicit TraceReader(CsvTable table) : table_(std::move(table)) {
    for (std::size_t c = 0; c < kTraceColumns.size() && !error_; ++c) {
      const auto column = table_.column(kTraceColumns[c]);
      if (column) columns_[c] = *column;
      if (!column) error_ = column.error();
    }
  }

  Result<std::vector<ArenaJob>> jobs(const std::string& file_name) {
    std::vector<ArenaJob> jobs;
    for (row_ = 0; row_ < table_.rows() && !error_; ++row_) {
      jobs.push_back(job());
    }
    if (error_) return *error_;
    if (jobs.empty()) return invalid_input(file_name + ":1: the trace has no job");
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const ArenaJob& a, const ArenaJob& b) { return a.submit_s < b.submit_s; });
    return jobs;
  }

 private:
  ArenaJob job() {
    ArenaJob job;
    job.name = text(kName);
    job.submit_s = number(kSubmit, 0, kMostTraceSeconds);
    job.iterations = number(kIterations, 1, kMostIterations);
    const std::string& model = text(kModel);
    const auto cut = model.find("__");
    if (cut == std::string::npos || cut == 0 || cut + 2 == model.size())
      refuse(fmt::format("model_name is {}, not MODEL__SIZE, such as bert__1.3B", shown(model)));
    else
      job.size = model.substr(cut + 2);
    job.model = model.substr(0, cut);
    job.deadline_s = number(kDeadline, 0, kMostTraceSeconds);
    job.batch = static_cast<std::uint32_t>(number(kBatch, 1, 1'000'000));
    job.devices = static_cast<std::uint32_t>(number(kDevices, 1, 65'536));
    job.type = text(kType);
    return job;
  }

  void refuse(std::string why) {
    if (!error_) error_ = table_.error_at(row_, std::move(why));
  }

  const std::string& text(TraceColumn column) {
    const std::string& field = table_.text(row_, columns_[column]);
    if (field.empty()) refuse(fmt::format("{} is empty", kTraceColumns[column]));
    return field;
  }

  std::int64_t number(TraceColumn column, std::uint64_t least, std::uint64_t most) {
    const auto value = parse_digits(text(column), most);
    if (!value || *value < least)
      refuse(fmt::format("{} is {}, not a whole number from {} to {}", kTraceColumns[column],
                         shown(text(column)), least, most));
    return static_cast<std::int64_t>(value.value_or(0));
  }

  CsvTable table_;
  std::array<std::size_t, kTraceColumns.size()> columns_{};
  std::size_t row_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<std::vector<ArenaJob>> parse_arena_trace(std::string_view text,
                                                const std::string& file_name) {
  auto table = CsvTable::parse(file_name, text);
  if (!table) return table.error();
  if (table->has("application") && !table->has("model_name"))
    return invalid_input(file_name + ":1: this is a workload for --benchmark sia-64 or pollux-64");
  return TraceReader(std::move(*table)).jobs(file_name);
}

}  // namespace tutti
