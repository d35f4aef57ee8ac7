#include "sim/simulate/run_figures.h"

#include <map>

#include "sim/simulate/run_json.h"

namespace tutti {
namespace {

using Unit = Figure::Unit;
using Better = Figure::Better;

// "8 nodes: 32 A100, 32 V100".
std::string cluster_words(const RunResult& run) {
  std::map<std::string, double> by_type;
  for (const ClusterNode& node : run.nodes) {
    for (const std::string& type : node.types) ++by_type[type];
    if (run.cores) by_type[""] += node.devices;
  }
  std::string words =
      std::to_string(run.nodes.size()) + (run.nodes.size() == 1 ? " node" : " nodes");
  const char* separator = ": ";
  for (const auto& [type, devices] : by_type) {
    if (devices == 0) continue;
    words += separator + json_number(devices) + " " + (type.empty() ? "cores" : type);
    separator = ", ";
  }
  return words;
}

}  // namespace

RunFigures figures_of(const RunResult& run, const Summary& summary) {
  RunFigures shown{.policy = run.policy,
                   .workload = run.workload,
                   .jobs = summary.jobs,
                   .finished = summary.finished,
                   .cluster = cluster_words(run),
                   .figures = {},
                   .notes = run.notes};
  const bool timed = !run.decision_ms.empty();
  const auto unfinished = static_cast<double>(summary.jobs - summary.finished);
  shown.figures = {
      {"finished", Unit::kNumber, Better::kMore, static_cast<double>(summary.finished)},
      {"not finished", Unit::kNumber, Better::kLess, unfinished},
      {"completion, mean", Unit::kSeconds, Better::kLess, summary.mean_jct_s},
      {"  median", Unit::kSeconds, Better::kLess, summary.median_jct_s},
      {"  90 %", Unit::kSeconds, Better::kLess, summary.p90_jct_s},
      {"  99 %", Unit::kSeconds, Better::kLess, summary.p99_jct_s},
      {"queueing, mean", Unit::kSeconds, Better::kLess, summary.mean_queue_s},
      {"makespan", Unit::kSeconds, Better::kLess, summary.makespan_s},
      {run.cores ? "core use" : "GPU use", Unit::kPart, Better::kMore, summary.device_use},
      {run.cores ? "core hours per job" : "GPU hours per job", Unit::kHours, Better::kLess,
       summary.device_hours_per_job},
      {"fragmentation", Unit::kPart, Better::kLess, summary.fragmentation},
      {"restarts per job", Unit::kRatio, Better::kLess, summary.restarts_per_job},
      {"worse than a fair share", Unit::kPart, Better::kLess, summary.unfair.value_or(0),
       summary.unfair.has_value()},
      {"  the worst", Unit::kRatio, Better::kLess, summary.worst_fairness.value_or(0),
       summary.worst_fairness.has_value()},
      {"deadlines met", Unit::kPart, Better::kMore, summary.deadlines_met.value_or(0),
       summary.deadlines_met.has_value()},
      {"throughput, mean", Unit::kRatio, Better::kMore, summary.throughput_mean,
       summary.throughput_mean > 0},
      {"decision, median", Unit::kMilliseconds, Better::kLess, summary.decision_ms_median, timed},
      {"  95 %", Unit::kMilliseconds, Better::kLess, summary.decision_ms_p95, timed},
  };
  return shown;
}

}  // namespace tutti
