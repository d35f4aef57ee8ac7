#include "sim/workload/philly.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "core/spec/csv.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

// Our names of columns, each with what others call it.
const std::map<std::string_view, std::string_view>& column_names() {
  static const std::map<std::string_view, std::string_view> names = {
      {"job_id", "job_id"},       {"jobid", "job_id"},
      {"job_name", "job_id"},     {"id", "job_id"},
      {"name", "job_id"},         {"submit", "submit"},
      {"submit_time", "submit"},  {"submitted_time", "submit"},
      {"submit_s", "submit"},     {"submission_time", "submit"},
      {"arrival_time", "submit"}, {"timestamp", "submit"},
      {"duration", "duration"},   {"duration_s", "duration"},
      {"run_time", "duration"},   {"runtime", "duration"},
      {"num_gpu", "num_gpu"},     {"num_gpus", "num_gpu"},
      {"gpu_num", "num_gpu"},     {"gpu_count", "num_gpu"},
      {"gpus", "num_gpu"},        {"gpu_type", "gpu_type"},
      {"type", "gpu_type"},       {"deadline", "deadline"},
      {"user", "user"},           {"vc", "vc"},
      {"project", "vc"},
  };
  return names;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool may_be_type(std::string_view text) {
  return text.size() <= 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
         });
}

// The number that is at this place, all of it digits; nothing: there is none.
std::optional<unsigned> digits_at(std::string_view text, std::size_t from, std::size_t count) {
  const auto number = parse_digits(text.substr(from, count), 9999);
  if (!number) return std::nullopt;
  return static_cast<unsigned>(*number);
}

// "2017-10-01 00:00:00", also with a T between, as seconds since 1970. Zones do not matter: what
// counts is how far apart times are.
std::optional<Duration> seconds_of_date(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00 00:00:00";
  if (text.size() != kForm.size()) return std::nullopt;
  for (const std::size_t mark : {4u, 7u, 10u, 13u, 16u}) {
    if (text[mark] != kForm[mark] && (mark != 10 || text[mark] != 'T')) return std::nullopt;
  }
  const auto year = digits_at(text, 0, 4);
  const auto month = digits_at(text, 5, 2);
  const auto day = digits_at(text, 8, 2);
  const auto hour = digits_at(text, 11, 2);
  const auto minute = digits_at(text, 14, 2);
  const auto second = digits_at(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok() || *year < 1970 || *year > 2069) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return seconds(days * 86400 + *hour * 3600 + *minute * 60 + *second);
}

}  // namespace

Result<void> PhillyReader::read_heading(std::string_view line, std::uint64_t number) {
  columns_.clear();
  skipped_ = 0;
  const auto split = csv_cells(line);
  if (!split) return line_error(file_, number, split.error().message);
  const std::vector<std::string_view>& cells = *split;
  width_ = cells.size();
  std::set<std::string> written;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    written.insert(lower(cells[i]));
    const auto known = column_names().find(lower(cells[i]));
    if (known == column_names().end()) continue;
    if (!columns_.emplace(known->second, i).second)
      return line_error(file_, number, "two columns are the " + std::string(known->second));
  }
  if (written.contains("num_iteration") || written.contains("model_name"))
    return line_error(file_, number,
                      "this trace has iterations of models, not durations; run it as --benchmark "
                      "arena-1280 --workload FILE");
  if (written.contains("application"))
    return line_error(file_, number,
                      "this is a workload of applications, not of durations; run it as --benchmark "
                      "sia-64 or pollux-64 with --workload FILE");
  for (const char* column : {"submit", "duration", "num_gpu"}) {
    if (!columns_.contains(column))
      return line_error(file_, number,
                        "no column is called '" + std::string(column) +
                            "'; the first line must name at least submit, duration and num_gpu");
  }
  return {};
}

std::optional<std::string_view> PhillyReader::cell(const std::vector<std::string_view>& cells,
                                                   const char* column) const {
  const auto found = columns_.find(column);
  if (found == columns_.end() || cells[found->second].empty()) return std::nullopt;
  return cells[found->second];
}

Result<Duration> PhillyReader::time(const std::vector<std::string_view>& cells, const char* column,
                                    std::uint64_t number) const {
  const std::string_view text = cell(cells, column).value_or("");
  const bool is_date = std::string_view(column) != "duration";
  if (is_date) {
    if (const auto date = seconds_of_date(text)) return *date;
  }
  const Result<Duration> time = trace_seconds(text);
  if (!time)
    return line_error(file_, number,
                      std::string(column) + ": " + time.error().message + "; write seconds" +
                          (is_date ? ", or such as 2017-10-01 00:00:00" : ""));
  return time;
}

Result<void> PhillyReader::read_times(const std::vector<std::string_view>& cells,
                                      std::uint64_t number, WorkloadJob& job) const {
  const Result<Duration> submit = time(cells, "submit", number);
  if (!submit) return submit.error();
  const Result<Duration> duration = time(cells, "duration", number);
  if (!duration) return duration.error();
  job.submit = *submit;
  job.runs = {*duration};
  if (!cell(cells, "deadline")) return {};
  const Result<Duration> deadline = time(cells, "deadline", number);
  if (!deadline) return deadline.error();
  if (deadline->value > submit->value) job.deadline = *deadline - *submit;
  return {};
}

Result<std::optional<WorkloadJob>> PhillyReader::read(std::string_view line, std::uint64_t number) {
  if (number == 1) {
    const Result<void> heading = read_heading(line, number);
    return heading ? Result(std::optional<WorkloadJob>()) : heading.error();
  }
  if (trimmed(line).empty()) return std::optional<WorkloadJob>();
  const auto split = csv_cells(line);
  if (!split) return line_error(file_, number, split.error().message);
  const std::vector<std::string_view>& cells = *split;
  if (cells.size() != width_)
    return line_error(file_, number,
                      "it has " + std::to_string(cells.size()) + " cells, the first line has " +
                          std::to_string(width_));
  WorkloadJob job;
  if (const Result<void> times = read_times(cells, number, job); !times) return times.error();
  const std::string_view count = cell(cells, "num_gpu").value_or("");
  const auto gpus = parse_digits(count, 1'000'000);
  if (!gpus) return line_error(file_, number, "num_gpu: " + shown(count) + " is no number of GPUs");
  if (job.submit.value < 0 || job.runs[0].value < 0) {
    ++skipped_;
    return std::optional<WorkloadJob>();
  }
  JobSpec& spec = job.spec;
  spec.request.devices.count = static_cast<std::uint32_t>(*gpus);
  if (*gpus > 0) spec.request.devices.sharing = Sharing::kNever;
  spec.request.devices.type = cell(cells, "gpu_type").value_or("");
  if (!may_be_type(spec.request.devices.type))
    return line_error(file_, number,
                      "gpu_type: " + shown(spec.request.devices.type) + " is no type of GPU");
  spec.name = cell(cells, "job_id").value_or(std::to_string(number - 1));
  spec.user = cell(cells, "user").value_or("");
  spec.project = cell(cells, "vc").value_or("default");
  spec.kind = std::to_string(*gpus) + (*gpus == 1 ? " GPU" : " GPUs");
  return std::optional(std::move(job));
}

std::vector<std::string> PhillyReader::left_out() const {
  if (skipped_ == 0) return {};
  return {left_out_note(skipped_, "without a time of submission or a duration")};
}

}  // namespace tutti
