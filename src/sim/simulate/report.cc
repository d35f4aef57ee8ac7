#include "sim/simulate/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string_view>
#include <unordered_map>

#include "sim/simulate/run_json.h"

namespace tutti {
namespace {

constexpr std::string_view kPlace = "/*TUTTI_DATA*/null";
// Rows of a picture; what a cluster has beyond is left out of it.
constexpr std::uint32_t kMostRows = 20'000;
// Cores are many and alike: a node has at most about so many rows, each for several if need be.
constexpr std::uint32_t kMostCoreRows = 64;

// One stretch of a job on one node.
struct Stretch {
  double from_s = 0;
  double to_s = 0;
  std::size_t job = 0;
  std::uint32_t devices = 0;
};

// The rows of a node: each device is a row, and a job has those that were free when it came.
class NodeRows {
 public:
  explicit NodeRows(std::uint32_t devices) : free_at_(devices, -1) {}

  // The rows that a stretch takes: the first that are free.
  std::vector<std::uint32_t> take(const Stretch& stretch) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; rows.size() < stretch.devices; ++row) {
      if (row == free_at_.size()) {
        if (full_) break;
        free_at_.push_back(-1);
      }
      if (free_at_[row] > stretch.from_s) continue;
      free_at_[row] = stretch.to_s;
      rows.push_back(row);
    }
    return rows;
  }
  void close() { full_ = true; }
  std::size_t size() const { return free_at_.size(); }

 private:
  std::vector<double> free_at_;
  bool full_ = false;  // no more rows than the node has devices
};

using NodeStretches = std::vector<std::vector<Stretch>>;

NodeStretches stretches_of(const RunResult& run) {
  std::unordered_map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < run.nodes.size(); ++i) index.emplace(run.nodes[i].name, i);
  NodeStretches all(run.nodes.size());
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    for (const JobSpan& span : run.jobs[j].spans) {
      std::map<std::size_t, std::uint32_t> counts;
      for (const std::string& node : span.nodes) {
        if (const auto found = index.find(node); found != index.end()) ++counts[found->second];
      }
      for (const auto& [node, devices] : counts)
        all[node].push_back({span.from_s, span.to_s, j, devices});
    }
  }
  for (std::vector<Stretch>& one : all) {
    std::stable_sort(one.begin(), one.end(),
                     [](const Stretch& a, const Stretch& b) { return a.from_s < b.from_s; });
  }
  return all;
}

// "nodes": [{name, type, rows, bars: [job, from, to, first row, rows, …]}]: a bar is a run of
// neighbouring rows.
std::string nodes_json(const RunResult& run) {
  const std::vector<ClusterNode>& nodes = run.nodes;
  const NodeStretches stretches = stretches_of(run);
  std::string out;
  std::size_t rows_left = kMostRows;
  for (std::size_t i = 0; i < nodes.size() && rows_left > 0; ++i) {
    const std::uint32_t most = run.cores ? kMostCoreRows : kMostRows;
    const std::uint32_t each = std::max(1u, (nodes[i].devices + most - 1) / most);
    NodeRows rows(nodes[i].devices / each);
    if (nodes[i].devices > 0 && each == 1) rows.close();
    std::string bars;
    for (Stretch stretch : stretches[i]) {
      stretch.devices = (stretch.devices + each - 1) / each;
      const std::vector<std::uint32_t> taken = rows.take(stretch);
      for (std::size_t at = 0; at < taken.size();) {
        std::size_t next = at + 1;
        while (next < taken.size() && taken[next] == taken[next - 1] + 1) ++next;
        bars += fmt::format("{}{},{},{},{},{}", bars.empty() ? "" : ",", stretch.job,
                            json_number(stretch.from_s), json_number(stretch.to_s), taken[at],
                            next - at);
        at = next;
      }
    }
    rows_left -= std::min(rows_left, rows.size());
    out += fmt::format("{}{{\"name\":{},\"type\":{},\"rows\":{},\"bars\":[{}]}}",
                       out.empty() ? "" : ",", json_string(nodes[i].name),
                       json_string(nodes[i].type), rows.size(), bars);
  }
  return out;
}

std::string jobs_json(const RunResult& run) {
  std::string out;
  for (const JobResult& job : run.jobs) {
    const auto or_null = [](const std::optional<double>& number) {
      return number ? json_number(*number) : std::string("null");
    };
    out += fmt::format("{}[{},{},{},{},{},{},{},{},{},{}]", out.empty() ? "" : ",",
                       json_string(job.name), json_string(job.kind), json_number(job.submit_s),
                       or_null(job.first_start_s), or_null(job.finish_s), json_number(job.queue_s),
                       job.restarts, job.devices, or_null(job.alone_s), or_null(job.deadline_s));
  }
  return out;
}

std::string samples_json(const RunResult& run) {
  std::string out;
  for (const ClusterSample& sample : run.samples)
    out +=
        fmt::format("{}{},{},{},{},{}", out.empty() ? "" : ",", json_number(sample.at_s),
                    sample.waiting, sample.running, sample.devices_used, sample.devices_stranded);
  return out;
}

// "</script>" in a name would end the element, and "<!--" begin something worse.
std::string safe_in_script(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string report_data(const std::vector<ReportRun>& runs) {
  std::string out = "{\"runs\":[";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunResult& run = *runs[i].run;
    out += fmt::format(
        R"({}{{"policy":{},"workload":{},"horizon":{},"devices":{},"cores":{},"summary":{},)"
        R"("nodes":[{}],"jobs":[{}],"samples":[{}]}})",
        i == 0 ? "" : ",", json_string(run.policy), json_string(run.workload),
        json_number(run.horizon_s), run.devices, run.cores ? "true" : "false",
        summary_json(*runs[i].summary, !run.decision_ms.empty()), nodes_json(run), jobs_json(run),
        samples_json(run));
  }
  return safe_in_script(out + "]}");
}

Result<void> write_report(const std::string& path, const std::vector<ReportRun>& runs) {
  const std::string_view page = kReportPage;
  const std::size_t place = page.find(kPlace);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) return Error{ErrorCode::kIo, path + ": cannot be written; does its folder exist?"};
  file << page.substr(0, place) << report_data(runs) << page.substr(place + kPlace.size());
  file.flush();
  if (!file) return Error{ErrorCode::kIo, path + ": could not be written to its end"};
  return {};
}

}  // namespace tutti
