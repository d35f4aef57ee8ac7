#include "sim/simulate/run_json.h"

#include <fmt/format.h>

#include <cmath>

#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::size_t kPiece = 64 * 1024;

// The text with every byte that is not UTF-8 replaced.
std::string valid_utf8(std::string_view text) {
  std::string out;
  while (const auto bad = first_invalid_utf8(text)) {
    out += text.substr(0, *bad);
    out += "\xEF\xBF\xBD";
    text.remove_prefix(*bad + 1);
  }
  return out += text;
}

std::string number_or_null(const std::optional<double>& number) {
  return number ? json_number(*number) : "null";
}

std::string job_json(const JobResult& job, double horizon_s) {
  return fmt::format(
      R"({{"name":{},"kind":{},"submit_s":{},"first_start_s":{},"finish_s":{},"timed_out":{},)"
      R"("jct_s":{},"queue_s":{},"restarts":{},"devices":{},"device_s":{},"unused_s":{},)"
      R"("alone_s":{},"deadline_s":{}}})",
      json_string(job.name), json_string(job.kind), json_number(job.submit_s),
      number_or_null(job.first_start_s), number_or_null(job.finish_s), job.timed_out,
      json_number(job.finish_s.value_or(horizon_s) - job.submit_s), json_number(job.queue_s),
      job.restarts, json_number(job.devices), json_number(job.device_s), json_number(job.unused_s),
      number_or_null(job.alone_s), number_or_null(job.deadline_s));
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_number(double number) {
  if (!std::isfinite(number)) return "null";
  // Microseconds are all that a simulation knows; what lies below is noise of sums.
  const double rounded = std::round(number * 1e6) / 1e6;
  if (rounded == std::floor(rounded) && std::abs(rounded) < 1e15)
    return fmt::format("{}", static_cast<std::int64_t>(rounded));
  return fmt::format("{}", rounded);
}

std::string summary_json(const Summary& summary, bool timed) {
  const auto timing = [&](double number) { return timed ? json_number(number) : "null"; };
  return fmt::format(
      R"({{"jobs":{},"finished":{},"mean_jct_s":{},"median_jct_s":{},"p90_jct_s":{},"p99_jct_s":{},)"
      R"("mean_queue_s":{},"makespan_s":{},"restarts_per_job":{},"device_hours_per_job":{},)"
      R"("device_use":{},"fragmentation":{},"unfair":{},"worst_fairness":{},"deadlines_met":{},)"
      R"("throughput_mean":{},"decision_ms_median":{},"decision_ms_p95":{}}})",
      summary.jobs, summary.finished, json_number(summary.mean_jct_s),
      json_number(summary.median_jct_s), json_number(summary.p90_jct_s),
      json_number(summary.p99_jct_s), json_number(summary.mean_queue_s),
      json_number(summary.makespan_s), json_number(summary.restarts_per_job),
      json_number(summary.device_hours_per_job), json_number(summary.device_use),
      json_number(summary.fragmentation), number_or_null(summary.unfair),
      number_or_null(summary.worst_fairness), number_or_null(summary.deadlines_met),
      json_number(summary.throughput_mean), timing(summary.decision_ms_median),
      timing(summary.decision_ms_p95));
}

void write_run_json(const RunResult& run, const Summary& summary, const TextSink& out) {
  std::string piece =
      fmt::format(R"({{"policy":{},"workload":{},"horizon_s":{},"devices":{},"jobs":[)",
                  json_string(run.policy), json_string(run.workload), json_number(run.horizon_s),
                  json_number(run.devices));
  bool first = true;
  for (const JobResult& job : run.jobs) {
    if (!first) piece += ',';
    first = false;
    piece += job_json(job, run.horizon_s);
    if (piece.size() < kPiece) continue;
    out(piece);
    piece.clear();
  }
  piece += "],\"notes\":[";
  for (std::size_t i = 0; i < run.notes.size(); ++i)
    piece += (i > 0 ? "," : "") + json_string(run.notes[i]);
  out(piece + "],\"summary\":" + summary_json(summary, !run.decision_ms.empty()) + "}");
}

}  // namespace tutti
