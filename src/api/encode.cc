#include "api/encode.h"

#include <algorithm>
#include <boost/json.hpp>

#include "core/plan/reason.h"
#include "core/spec/model_text.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

json::value cores(MilliCpu cpus) {
  if (cpus.value % 1000 == 0) return cpus.value / 1000;
  return static_cast<double>(cpus.value) / 1000;
}

const char* shape_name(TaskSet::Shape shape) {
  switch (shape) {
    case TaskSet::Shape::kSingle:
      return "single";
    case TaskSet::Shape::kArray:
      return "array";
    case TaskSet::Shape::kBatch:
      return "batch";
    case TaskSet::Shape::kGang:
      return "gang";
  }
  return "single";
}

json::object counts_to_json(const TaskCounts& counts) {
  json::object out;
  for (std::size_t i = 0; i < kTaskStates; ++i) {
    out[task_state_name(static_cast<TaskState>(i))] = counts.by_state[i];
  }
  return out;
}

// Whether the row says how its newest attempt ended: not while the next one is under way.
bool has_outcome(const TaskRow& row) {
  return row.attempts > 0 && row.ended_at &&
         (is_final(row.state) || row.state == TaskState::kQueued);
}

void put_outcome(const TaskRow& row, json::object& out) {
  const bool ended = has_outcome(row);
  out["ending"] = ended ? json::value(ending_name(row.outcome.ending)) : json::value();
  out["signal"] =
      ended && row.outcome.signal != 0 ? json::value(row.outcome.signal) : json::value();
  out["message"] = ended ? text_or_null(row.outcome.message) : json::value();
}

void put_request(const Request& request, json::object& out) {
  out["cpus"] = cores(request.cpus);
  out["memory_mib"] = request.memory.value;
  out["gpus"] = request.devices.count;
  out["gpu_type"] = text_or_null(request.devices.type);
  out["configurations"] = text_or_null(format_configurations(request.configurations));
}

json::value count_or_null(std::uint64_t count) {
  return count == 0 ? json::value() : json::value(count);
}

void put_numbers(const Reason& reason, json::object& out) {
  out["wanted"] = reason.wanted;
  out["available"] = reason.available;
  out["capacity"] = reason.capacity;
  out["node"] = text_or_null(reason.node);
}

json::object reason_to_json(const Reason& reason, TimePoint now) {
  json::object out;
  out["code"] = reason_name(reason.code);
  out["text"] = text_to_json(text_of(reason, now));
  if (reason.job.value != 0) out["job"] = reason.job.value;
  switch (reason.code) {
    case ReasonCode::kDependency:
      out["when"] = when_name(reason.when);
      break;
    case ReasonCode::kBackoff:
      out["until"] = time_to_json(reason.until);
      break;
    case ReasonCode::kArrayLimit:
    case ReasonCode::kNodeLimit:
    case ReasonCode::kBehind:
      out["count"] = reason.count;
      break;
    case ReasonCode::kCpus:
    case ReasonCode::kMemory:
    case ReasonCode::kDevices:
      put_numbers(reason, out);
      break;
    case ReasonCode::kReserved:
      out["node"] = text_or_null(reason.node);
      break;
    default:
      break;
  }
  if (!reason.detail.empty()) out["detail"] = text_to_json(reason.detail);
  return out;
}

json::object device_to_json(const Device& device) {
  return {{"index", device.id.value},
          {"type", text_to_json(device.type)},
          {"uuid", text_to_json(device.uuid)},
          {"memory_mib", device.memory.value},
          {"reserved_mib", device.reserved_memory.value},
          {"healthy", device.healthy},
          {"reason", text_or_null(device.trouble)},
          {"emulated", !device.emulation.empty()}};
}

json::value measured_to_json(const NodeMeasurement* measured) {
  if (measured == nullptr) return nullptr;
  json::array gpus;
  for (const MeasuredGpu& gpu : measured->gpus) {
    gpus.push_back({{"index", gpu.number},
                    {"used_mib", gpu.used.value},
                    {"memory_mib", gpu.memory.value},
                    {"utilization", static_cast<double>(gpu.utilization.value) / 1000}});
  }
  return {{"at", time_to_json(measured->at)},           {"cpus", cores(measured->cpus)},
          {"busy_cpus", cores(measured->busy)},         {"memory_mib", measured->memory.value},
          {"available_mib", measured->available.value}, {"gpus", std::move(gpus)}};
}

json::object transfer_to_json(const NodeTransfer& transfer) {
  json::array jobs;
  for (const JobId job : transfer.jobs) jobs.push_back(job.value);
  return {{"direction", transfer.back ? "from" : "to"},
          {"jobs", std::move(jobs)},
          {"bytes", transfer.bytes},
          {"total_bytes", transfer.total ? json::value(*transfer.total) : json::value()},
          {"seconds", static_cast<double>(transfer.elapsed.value) / 1e6}};
}

}  // namespace

json::object job_to_json(const JobSummary& job, const std::optional<TaskRow>& task,
                         const NodeNames& nodes) {
  const JobRow& row = job.row;
  json::object out;
  out["id"] = row.id.value;
  out["name"] = text_to_json(job.name);
  out["user"] = text_to_json(job.user);
  out["project"] = text_to_json(job.project);
  out["kind"] = text_to_json(job.kind);
  out["state"] = task_state_name(row.state);
  out["priority"] = job.priority;
  out["command"] = text_to_json(job.command);
  out["array"] = job.tasks.shape == TaskSet::Shape::kArray;
  out["shape"] = shape_name(job.tasks.shape);
  out["tasks"] = job.tasks.count;
  out["counts"] = counts_to_json(row.counts);
  out["max_parallel"] = count_or_null(job.tasks.max_parallel);
  put_request(job.request, out);
  out["time_limit_s"] = job.time_limit.value == 0 ? json::value() : seconds_to_json(job.time_limit);
  out["submitted_at"] = time_to_json(row.submitted_at);
  out["started_at"] = time_to_json(row.started_at);
  out["finished_at"] = time_to_json(row.finished_at);
  out["exit_code"] = row.finished_at ? json::value(row.exit_status) : json::value();
  if (task) {
    put_outcome(*task, out);
    out["node"] = text_or_null(nodes.name(task->node));
    out["attempt"] = task->attempts;
  }
  return out;
}

json::object task_to_json(const TaskRow& row, const TaskPlace& place, const NodeNames& nodes) {
  json::object out;
  out["task"] = place.label;
  out["line"] = place.line ? json::value(*place.line) : json::value();
  out["command"] = text_to_json(place.command);
  out["state"] = task_state_name(row.state);
  out["attempt"] = row.attempts;
  out["node"] = text_or_null(nodes.name(row.node));
  json::array devices;
  for (const DeviceGrant& one : row.devices) devices.emplace_back(std::to_string(one.id.value));
  out["devices"] = std::move(devices);
  out["group"] = text_or_null(place.group);
  out["ports"] = json::array(row.ports.begin(), row.ports.end());
  json::array gpus;
  for (const DeviceGrant& one : row.devices)
    gpus.push_back({{"index", one.id.value}, {"granted_mib", one.memory.value}});
  out["gpus"] = std::move(gpus);
  // Of no use once it is over: the number may belong to another process by then.
  const bool has_process = row.pid != 0 && row.state == TaskState::kRunning;
  out["pid"] = has_process ? json::value(row.pid) : json::value();
  out["placed_at"] = time_to_json(row.placed_at);
  out["started_at"] = time_to_json(row.started_at);
  out["finished_at"] = is_final(row.state) ? time_to_json(row.ended_at) : json::value();
  out["not_before"] = time_to_json(row.not_before);
  const bool ended = has_outcome(row);
  out["exit_code"] = ended ? json::value(exit_status(row.outcome)) : json::value();
  put_outcome(row, out);
  out["cpu_seconds"] = ended ? seconds_to_json(row.outcome.cpu_time) : json::value();
  out["peak_memory_mib"] = ended ? json::value(row.outcome.peak_memory.value) : json::value();
  const bool measured = ended && row.outcome.device_measured;
  out["gpu_peak_mib"] = measured ? json::value(row.outcome.device_memory.value) : json::value();
  out["gpu_utilization"] =
      measured ? json::value(static_cast<double>(row.outcome.device_share.value) / 1000)
               : json::value();
  out["oom_retries"] = row.oom_retries;
  out["stdout"] = text_or_null(place.stdout_path);
  out["stderr"] = text_or_null(place.stderr_path);
  return out;
}

json::object node_to_json(const Node& node, const NodeMeasurement* measured,
                          const std::vector<NodeTransfer>& transfers) {
  json::object out;
  out["name"] = text_to_json(node.name);
  out["address"] = text_to_json(node.remote.address);
  out["state"] = node_state_name(node.state);
  out["reason"] = text_or_null(node.state_reason);
  out["cpus"] = cores(node.cpus);
  // A node that became smaller than what is held there has nothing free.
  out["free_cpus"] = cores(std::max(node.free_cpus, MilliCpu()));
  out["memory_mib"] = node.memory.value;
  out["free_memory_mib"] = std::max(node.free_memory, MiB()).value;
  json::array labels;
  for (const auto& label : node.labels) labels.push_back(text_to_json(label));
  out["labels"] = std::move(labels);
  json::array devices;
  for (const Device& device : node.devices) devices.push_back(device_to_json(device));
  out["devices"] = std::move(devices);
  out["max_jobs"] = node.max_jobs;
  out["jobs"] = node.jobs;
  out["measured"] = measured_to_json(measured);
  json::array copied;
  for (const NodeTransfer& transfer : transfers) copied.push_back(transfer_to_json(transfer));
  out["transfers"] = std::move(copied);
  return out;
}

json::array plan_to_json(const std::vector<RankPlan>& plan) {
  json::array out;
  for (const RankPlan& rank : plan) {
    json::array devices;
    for (const DeviceId device : rank.devices) devices.emplace_back(device.value);
    json::array env;
    for (const std::string& entry : rank.env) env.push_back(text_to_json(entry));
    out.push_back(json::object{{"rank", rank.rank},
                               {"group", text_to_json(rank.group)},
                               {"node", text_to_json(rank.node)},
                               {"devices", std::move(devices)},
                               {"ports", json::array(rank.ports.begin(), rank.ports.end())},
                               {"env", std::move(env)}});
  }
  return out;
}

json::object explanation_to_json(const Explanation& explanation, const TaskSet& tasks,
                                 TimePoint now) {
  json::object out;
  out["job"] = count_or_null(explanation.job.value);
  out["task"] = tasks.label(explanation.task);
  out["state"] = task_state_name(explanation.state);
  json::array reasons;
  for (const Reason& reason : explanation.reasons) reasons.push_back(reason_to_json(reason, now));
  out["reasons"] = std::move(reasons);
  json::array remedies;
  for (const auto& remedy : explanation.remedies) remedies.push_back(text_to_json(remedy));
  out["remedies"] = std::move(remedies);
  out["expected_start"] = json::object{{"p50", time_to_json(explanation.expected_start_p50)},
                                       {"p90", time_to_json(explanation.expected_start_p90)},
                                       {"basis", text_to_json(explanation.basis)}};
  json::array configurations;
  for (const ConfigurationNote& note : explanation.configurations)
    configurations.push_back(
        json::object{{"gpus", text_to_json(format_configurations({note.configuration}))},
                     {"text", text_to_json(note.text)},
                     {"taken", note.taken}});
  out["configurations"] = std::move(configurations);
  return out;
}

json::object status_to_json(const StatusFacts& facts, const Status& status,
                            const TaskCounts& jobs) {
  json::object out;
  out["version"] = facts.version;
  out["api"] = 1;
  out["pid"] = facts.pid;
  out["keeper_pid"] = facts.keeper_pid == 0 ? json::value() : json::value(facts.keeper_pid);
  out["home"] = text_to_json(facts.home);
  out["listen"] = text_or_null(facts.listen);
  out["started_at"] = time_to_json(facts.started_at);
  out["slots"] = cores(facts.slots);
  out["tasks"] = json::object{
      {"queued", status.queued}, {"starting", status.placed}, {"running", status.running}};
  out["jobs"] = counts_to_json(jobs);
  out["enforcement"] = json::object{{"mode", facts.enforcement_mode},
                                    {"memory", facts.enforces_memory},
                                    {"cpus", facts.enforces_cpus},
                                    {"detail", text_to_json(facts.enforcement_detail)}};
  out["last_pass_us"] = status.last_pass.value;
  out["rounds"] = status.rounds;
  out["trouble"] = text_or_null(status.trouble);
  return out;
}

json::object changed_to_json(const Changed& changed) {
  json::array jobs;
  for (const JobId job : changed.jobs) jobs.emplace_back(job.value);
  return {{"tasks", changed.tasks}, {"jobs", std::move(jobs)}};
}

}  // namespace tutti
