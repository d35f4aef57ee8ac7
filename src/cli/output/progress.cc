#include "cli/output/progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output/text.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

std::string whole_seconds(Duration duration) {
  return format_duration(seconds(std::max<std::int64_t>(0, duration.value) / 1'000'000));
}

// What is left at the rate so far; empty while there is no rate.
std::string time_left(const JobView& job, TimePoint now) {
  const auto done = job.counts.finished();
  if (!job.started_at || done == 0 || done >= job.tasks) return {};
  const auto spent = static_cast<double>((now - job.started_at).value);
  const double left = spent / static_cast<double>(done) * static_cast<double>(job.tasks - done);
  if (left > 1e15) return {};
  return ", " + whole_seconds(Duration(static_cast<std::int64_t>(left))) + " left";
}

std::string bar(std::uint64_t done, std::uint64_t total, std::size_t columns) {
  const std::size_t inner = columns - 2;
  const std::size_t full =
      total == 0 ? inner
                 : static_cast<std::size_t>(static_cast<double>(done) / static_cast<double>(total) *
                                            static_cast<double>(inner));
  std::string text(full, '=');
  if (full < inner) text += '>';
  text.resize(inner, ' ');
  return "[" + text + "]";
}

}  // namespace

std::string progress_line(const JobView& job, TimePoint now, int width) {
  const auto done = job.counts.finished();
  std::string text = fmt::format("{}/{}", grouped(done), grouped(job.tasks));
  if (job.counts.failed > 0) text += fmt::format("  {} failed", grouped(job.counts.failed));
  if (job.counts.cancelled > 0)
    text += fmt::format("  {} cancelled", grouped(job.counts.cancelled));
  text += fmt::format("  {} running", grouped(job.counts.running + job.counts.starting));
  const TimePoint begin = job.started_at ? job.started_at : job.submitted_at;
  if (begin) text += "  " + whole_seconds(now - begin) + time_left(job, now);
  const std::size_t room = width > 0 ? static_cast<std::size_t>(width) : 80;
  const std::size_t used = columns_of(text) + 2;
  if (room < used + 10) return cut_to(text, room);
  return bar(done, job.tasks, std::min<std::size_t>(room - used, 42)) + "  " + text;
}

std::string progress_summary(const JobView& job) {
  std::string text =
      fmt::format("{}: {} succeeded", counted(job.tasks, "task"), grouped(job.counts.succeeded));
  if (job.counts.failed > 0) text += fmt::format(", {} failed", grouped(job.counts.failed));
  if (job.counts.cancelled > 0)
    text += fmt::format(", {} cancelled", grouped(job.counts.cancelled));
  if (job.counts.skipped > 0) text += fmt::format(", {} skipped", grouped(job.counts.skipped));
  if (job.started_at && job.finished_at) {
    text += fmt::format(" ({})", format_duration(job.finished_at - job.started_at));
  }
  return text;
}

void ProgressBar::show(const std::string& line) {
  if (!screen_.err_is_terminal()) return;
  // "Erase to the end" after the text instead of before it: no flicker.
  screen_.err("\r" + line + "\033[K");
  drawn_ = true;
}

void ProgressBar::clear() {
  if (drawn_) screen_.err("\r\033[K");
  drawn_ = false;
}

}  // namespace tutti
