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
  std::uint32_t count = 0;             // of devices, or of cores
  std::vector<std::uint32_t> devices;  // which of the node's; empty: nobody says
};

// The rows of a node. Each device has one, and one more for every further job that shares it at a
// time.
class NodeRows {
 public:
  // A row is a device's, and in it a lane.
  struct Row {
    std::size_t device = 0;
    std::size_t lane = 0;
  };
  // `grows`: there are as many devices as it takes.
  NodeRows(std::size_t devices, bool grows) : lanes_(devices, {-1}), grows_(grows) {}

  std::vector<Row> take(const Stretch& stretch) {
    std::vector<Row> rows;
    for (const std::uint32_t device : stretch.devices) {
      std::vector<double>& lanes = lanes_[device];
      const auto is_free = [&](double free_at) { return free_at <= stretch.from_s; };
      const auto lane = std::find_if(lanes.begin(), lanes.end(), is_free);
      rows.push_back({device, static_cast<std::size_t>(lane - lanes.begin())});
      if (lane == lanes.end()) lanes.push_back(-1);
      lanes[rows.back().lane] = stretch.to_s;
    }
    if (!rows.empty()) return rows;
    for (std::size_t device = 0; rows.size() < stretch.count; ++device) {
      if (device == lanes_.size()) {
        if (!grows_) break;
        lanes_.push_back({-1});
      }
      if (lanes_[device][0] > stretch.from_s) continue;
      lanes_[device][0] = stretch.to_s;
      rows.push_back({device, 0});
    }
    return rows;
  }

  // Where each device begins, once all is taken, and how many rows there are.
  std::vector<std::size_t> first_rows() const {
    std::vector<std::size_t> first{0};
    for (const std::vector<double>& lanes : lanes_) first.push_back(first.back() + lanes.size());
    return first;
  }

 private:
  std::vector<std::vector<double>> lanes_;  // of each device: when each is free
  bool grows_;
};

using NodeStretches = std::vector<std::vector<Stretch>>;

// Jobs without devices have no part in the pictures of nodes that have some.
NodeStretches stretches_of(const RunResult& run) {
  std::unordered_map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < run.nodes.size(); ++i) index.emplace(run.nodes[i].name, i);
  NodeStretches all(run.nodes.size());
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    for (const JobSpan& span : run.jobs[j].spans) {
      std::map<std::size_t, Stretch> parts;
      for (std::size_t i = 0; i < span.nodes.size(); ++i) {
        const auto found = index.find(span.nodes[i]);
        if (found == index.end()) continue;
        if (span.type.empty() && !run.nodes[found->second].types.empty()) continue;
        Stretch& part = parts[found->second];
        ++part.count;
        if (!span.devices.empty()) part.devices.push_back(span.devices[i]);
      }
      for (auto& [node, part] : parts) {
        part.from_s = span.from_s;
        part.to_s = span.to_s;
        part.job = j;
        all[node].push_back(std::move(part));
      }
    }
  }
  for (std::vector<Stretch>& one : all) {
    std::stable_sort(one.begin(), one.end(),
                     [](const Stretch& a, const Stretch& b) { return a.from_s < b.from_s; });
  }
  return all;
}

// What a node's devices are: "A100", or "A100 + V100".
std::string types_of(const ClusterNode& node) {
  std::vector<std::string> types = node.types;
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return fmt::format("{}", fmt::join(types, " + "));
}

// The bars of a node: job, from, to, first row, rows; a bar is a run of neighbouring rows.
std::string bars_json(const std::vector<Stretch>& stretches, NodeRows& rows, std::uint32_t each) {
  std::vector<std::vector<NodeRows::Row>> taken;
  for (Stretch stretch : stretches) {
    stretch.count = (stretch.count + each - 1) / each;
    taken.push_back(rows.take(stretch));
  }
  const std::vector<std::size_t> first = rows.first_rows();
  std::string bars;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    std::vector<std::size_t> at;
    for (const NodeRows::Row& row : taken[i]) at.push_back(first[row.device] + row.lane);
    std::sort(at.begin(), at.end());
    for (std::size_t from = 0; from < at.size();) {
      std::size_t next = from + 1;
      while (next < at.size() && at[next] == at[next - 1] + 1) ++next;
      bars += fmt::format("{}{},{},{},{},{}", bars.empty() ? "" : ",", stretches[i].job,
                          json_number(stretches[i].from_s), json_number(stretches[i].to_s),
                          at[from], next - from);
      from = next;
    }
  }
  return bars;
}

// "nodes": [{name, type, rows, bars: […]}].
std::string nodes_json(const RunResult& run) {
  const std::vector<ClusterNode>& nodes = run.nodes;
  const NodeStretches stretches = stretches_of(run);
  std::string out;
  std::size_t rows_left = kMostRows;
  for (std::size_t i = 0; i < nodes.size() && rows_left > 0; ++i) {
    const std::uint32_t most = run.cores ? kMostCoreRows : kMostRows;
    const auto size = static_cast<std::uint32_t>(nodes[i].devices);
    const std::uint32_t each = std::max(1u, (size + most - 1) / most);
    NodeRows rows(size / each, run.cores || nodes[i].types.empty());
    const std::string bars = bars_json(stretches[i], rows, each);
    const std::size_t count = rows.first_rows().back();
    rows_left -= std::min(rows_left, count);
    out += fmt::format("{}{{\"name\":{},\"type\":{},\"rows\":{},\"bars\":[{}]}}",
                       out.empty() ? "" : ",", json_string(nodes[i].name),
                       json_string(types_of(nodes[i])), count, bars);
  }
  return out;
}

std::string notes_json(const RunResult& run) {
  std::string out;
  for (const std::string& note : run.notes) out += (out.empty() ? "" : ",") + json_string(note);
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
                       job.restarts, json_number(job.devices), or_null(job.alone_s),
                       or_null(job.deadline_s));
  }
  return out;
}

std::string samples_json(const RunResult& run) {
  std::string out;
  for (const ClusterSample& sample : run.samples)
    out += fmt::format("{}{},{},{},{},{}", out.empty() ? "" : ",", json_number(sample.at_s),
                       sample.waiting, sample.running, json_number(sample.devices_used),
                       json_number(sample.devices_stranded));
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
        R"("nodes":[{}],"jobs":[{}],"samples":[{}],"notes":[{}]}})",
        i == 0 ? "" : ",", json_string(run.policy), json_string(run.workload),
        json_number(run.horizon_s), json_number(run.devices), run.cores ? "true" : "false",
        summary_json(*runs[i].summary, !run.decision_ms.empty()), nodes_json(run), jobs_json(run),
        samples_json(run), notes_json(run));
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
