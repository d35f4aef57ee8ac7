#include "sim/simulate/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/elastic/policies.h"
#include "core/plan/ordering.h"
#include "core/spec/quantity.h"
#include "core/spec/text.h"
#include "sim/csv_table.h"
#include "sim/simulate/benchmark.h"
#include "sim/simulate/recorded_workload.h"
#include "sim/simulate/report.h"
#include "sim/simulate/run_figures.h"
#include "sim/simulate/run_json.h"
#include "sim/simulate/trace_run.h"
#include "sim/workload/yaml_workload.h"

namespace tutti {
namespace {

// A run that is done.
struct Done {
  RunResult run;
  Summary summary;
};

// Where the work comes from, and what it runs on.
struct Stage {
  std::unique_ptr<Workload> workload;
  std::vector<Node> nodes;
  SpeedTable speeds;
};

Result<std::vector<Node>> read_cluster_file(const std::string& path) {
  const Result<std::string> text = read_whole_file(path);
  if (!text) return text.error();
  const Result<YamlWorkload> read = parse_yaml_workload(*text, path);
  if (!read) return read.error();
  if (read->cluster.empty()) return invalid_input(path + ": it has no 'cluster:'");
  return nodes_of(read->cluster);
}

Result<std::unique_ptr<Workload>> open_all(const SimulationRequest& request) {
  std::vector<std::unique_ptr<Workload>> parts;
  for (const std::string& file : request.files) {
    Result<std::unique_ptr<Workload>> part = open_workload(file, request.format);
    if (!part) return part.error();
    parts.push_back(*std::move(part));
  }
  return merge(std::move(parts));
}

bool has_type(const Node& node, const std::string& type) {
  return std::any_of(node.devices.begin(), node.devices.end(),
                     [&](const Device& device) { return device.type == type; });
}

// The node that a new one is like: it has the same devices, if possible as many of them; null:
// there is none.
const Node* like_of(const Node& added, const std::vector<Node>& nodes) {
  if (added.devices.empty()) return nullptr;
  const Node* like = nullptr;
  for (const Node& node : nodes) {
    if (!has_type(node, added.devices.front().type)) continue;
    if (node.devices.size() == added.devices.size()) return &node;
    if (like == nullptr) like = &node;
  }
  return like;
}

// Cores and memory for its number of devices, and all else.
void make_like(const Node& like, Node& node) {
  const auto part = [&](std::int64_t of_like) {
    const auto devices = static_cast<std::int64_t>(node.devices.size());
    return of_like * devices / static_cast<std::int64_t>(like.devices.size());
  };
  node.cpus = MilliCpu(part(like.cpus.value));
  node.memory = MiB(part(like.memory.value));
  node.labels = like.labels;
  const std::string& type = node.devices.front().type;
  const auto device = std::find_if(like.devices.begin(), like.devices.end(),
                                   [&](const Device& one) { return one.type == type; });
  for (Device& one : node.devices) one.memory = device->memory;
}

// Nodes that are asked for beside those that are there.
void add_nodes(const std::vector<NodeGroup>& groups, std::vector<Node>& nodes) {
  std::vector<Node> added = nodes_of(groups);
  for (Node& node : added) {
    for (Device& device : node.devices) device.uuid = "+" + device.uuid;
    if (const Node* like = like_of(node, nodes)) make_like(*like, node);
  }
  nodes.insert(nodes.end(), added.begin(), added.end());
}

Result<Stage> set_stage(const SimulationRequest& request, ReadRecording read_recording) {
  Stage stage;
  if (request.from_history) {
    Result<Recording> recording = read_recording(request.home, request.since);
    if (!recording) return recording.error();
    stage.nodes = std::move(recording->nodes);
    stage.speeds = std::move(recording->speeds);
    Result<std::unique_ptr<Workload>> workload = recorded_workload(*std::move(recording));
    if (!workload) return workload.error();
    stage.workload = *std::move(workload);
  } else {
    Result<std::unique_ptr<Workload>> workload = open_all(request);
    if (!workload) return workload.error();
    stage.workload = *std::move(workload);
    stage.nodes = nodes_of(stage.workload->cluster);
  }
  if (!request.cluster.empty()) {
    Result<std::vector<Node>> nodes = read_cluster_file(request.cluster);
    if (!nodes) return nodes.error();
    stage.nodes = *std::move(nodes);
  }
  add_nodes(request.add_nodes, stage.nodes);
  if (!request.speeds.empty()) stage.speeds = request.speeds;
  if (stage.nodes.empty())
    return invalid_input(stage.workload->name +
                         " says nothing of a cluster; give --cluster FILE or --add-nodes 4xA100:8");
  return stage;
}

// `why` may be a sentence, or several.
std::string refused_note(std::uint64_t jobs, std::string_view why) {
  if (why.ends_with('.')) why.remove_suffix(1);
  return fmt::format(
      "{} not counted; the first: {}.",
      jobs == 1 ? "1 job fits no node and is" : fmt::format("{} jobs fit no node and are", jobs),
      why);
}

// Without any job there is nothing to tell.
Error nothing_ran(const SimulationRequest& request, const TraceOutcome& outcome) {
  if (outcome.refused == 0)
    return invalid_input(
        fmt::format("jobs-scale: with {} chance left no job; take more, or another --seed",
                    request.jobs_scale));
  std::string_view why = outcome.first_refusal;
  if (why.ends_with('.')) why.remove_suffix(1);
  return invalid_input(
      outcome.refused == 1
          ? fmt::format("the only job fits no node: {}", why)
          : fmt::format("none of {} jobs fits a node; the first: {}", outcome.refused, why));
}

std::string timed_out_note(std::uint64_t jobs) {
  return jobs == 1 ? "1 job was ended by its time limit."
                   : fmt::format("{} jobs were ended by their time limit.", jobs);
}

Result<Done> run_policy(const SimulationRequest& request, Stage& stage, const std::string& policy,
                        const SimulationSinks& sinks) {
  const Result<Ordering> ordering = parse_ordering(policy);
  if (!ordering) return ordering.error();
  const double all = static_cast<double>(stage.workload->jobs) * request.jobs_scale;
  TraceRunOptions options{.nodes = stage.nodes,
                          .ordering = *ordering,
                          .jobs_scale = request.jobs_scale,
                          .seed = request.seed,
                          .speeds = stage.speeds,
                          .detail = !request.report.empty() ? Detail::kSpans
                                    : request.json          ? Detail::kJobs
                                                            : Detail::kNone,
                          .progress = {}};
  if (sinks.progress) {
    options.progress = [&](std::uint64_t ended, double now_s) {
      sinks.progress(fmt::format("{}: {} of about {:.0f} jobs, {} simulated", policy, ended, all,
                                 format_duration(seconds(static_cast<std::int64_t>(now_s)))));
    };
  }
  Result<TraceOutcome> outcome = run_trace(*stage.workload, options);
  if (!outcome) return outcome.error();
  if (outcome->summary.jobs == 0) return nothing_ran(request, *outcome);
  Done done{std::move(outcome->run), outcome->summary};
  done.run.notes = stage.workload->left_out;
  done.run.policy = policy;
  done.run.workload = stage.workload->name;
  if (outcome->refused > 0)
    done.run.notes.push_back(refused_note(outcome->refused, outcome->first_refusal));
  if (outcome->timed_out > 0) done.run.notes.push_back(timed_out_note(outcome->timed_out));
  return done;
}

// That the daemon's scheduler, which runs workloads, has it.
Result<void> check_policy(const std::string& name) {
  const Result<Ordering> known = parse_ordering(name);
  if (known) return {};
  if (find_elastic_policy(name) == nullptr) return known.error();
  std::string others;
  for (const std::string_view other : ordering_names())
    others.append(others.empty() ? "" : ", ").append(other);
  return invalid_input("policy: " + shown(name) + " is for --benchmark; other work takes " +
                       others);
}

Result<std::vector<Done>> run_all(const SimulationRequest& request, const SimulationSinks& sinks,
                                  ReadRecording read_recording) {
  std::vector<Done> all;
  if (!request.benchmark.empty()) {
    for (const std::string& policy : request.policies) {
      if (sinks.progress) sinks.progress(request.benchmark + ": " + policy);
      Result<RunResult> run = run_benchmark(request, policy);
      if (!run) return run.error();
      if (!request.timing) run->decision_ms.clear();
      const Summary summary = summarise(*run);
      all.push_back({*std::move(run), summary});
    }
    return all;
  }
  for (const std::string& policy : request.policies) {
    if (const Result<void> known = check_policy(policy); !known) return known.error();
  }
  Result<Stage> stage = set_stage(request, read_recording);
  if (!stage) return stage.error();
  for (const std::string& policy : request.policies) {
    Result<Done> done = run_policy(request, *stage, policy, sinks);
    if (!done) return done.error();
    all.push_back(*std::move(done));
  }
  return all;
}

void write_json(const std::vector<Done>& all, bool compares, const TextSink& out) {
  if (!compares) {
    // The members of the one run stand beside "api".
    bool first = true;
    write_run_json(all[0].run, all[0].summary, [&](std::string_view piece) {
      if (first) out("{\"api\":1,");
      out(first ? piece.substr(1) : piece);
      first = false;
    });
  } else {
    out("{\"api\":1,\"runs\":[");
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i > 0) out(",");
      write_run_json(all[i].run, all[i].summary, out);
    }
    out("]}");
  }
  out("\n");
}

}  // namespace

Result<std::vector<RunFigures>> simulate(const SimulationRequest& request,
                                         const SimulationSinks& sinks,
                                         ReadRecording read_recording) {
  const Result<std::vector<Done>> all = run_all(request, sinks, read_recording);
  if (!all) return all.error();
  if (!request.report.empty()) {
    std::vector<ReportRun> runs;
    for (const Done& done : *all) runs.push_back({&done.run, &done.summary});
    if (const Result<void> written = write_report(request.report, runs); !written)
      return written.error();
  }
  if (sinks.json) write_json(*all, request.compares, sinks.json);
  std::vector<RunFigures> shown;
  for (const Done& done : *all) shown.push_back(figures_of(done.run, done.summary));
  return shown;
}

}  // namespace tutti
