#include "client/views.h"

#include <boost/json.hpp>

#include "client/answer_fields.h"

namespace tutti {
namespace {

namespace json = boost::json;

std::optional<int> code_at(const json::value& value, std::string_view key) {
  const auto code = integer_at(value, key);
  if (!code) return std::nullopt;
  return static_cast<int>(*code);
}

CountsView counts_view(const json::value& value) {
  return {.queued = count_at(value, "queued"),
          .starting = count_at(value, "starting"),
          .running = count_at(value, "running"),
          .succeeded = count_at(value, "succeeded"),
          .failed = count_at(value, "failed"),
          .cancelled = count_at(value, "cancelled"),
          .skipped = count_at(value, "skipped")};
}

template <typename View>
std::vector<View> views(const json::value& answer, std::string_view key,
                        View (*view)(const json::value&)) {
  std::vector<View> out;
  const auto* found = array_at(answer, key);
  if (found == nullptr) return out;
  for (const auto& element : *found) out.push_back(view(element));
  return out;
}

}  // namespace

JobView job_view(const json::value& value) {
  JobView job;
  job.id = count_at(value, "id");
  job.name = text_at(value, "name");
  job.user = text_at(value, "user");
  job.project = text_at(value, "project");
  job.kind = text_at(value, "kind");
  job.state = text_at(value, "state");
  job.command = text_at(value, "command");
  job.shape = text_at(value, "shape");
  job.priority = number_at(value, "priority");
  job.tasks = count_at(value, "tasks");
  if (const auto* counts = field_at(value, "counts")) job.counts = counts_view(*counts);
  job.max_parallel = count_at(value, "max_parallel");
  job.cpus = real_at(value, "cpus");
  job.memory_mib = number_at(value, "memory_mib");
  job.gpus = number_at(value, "gpus");
  job.configurations = text_at(value, "configurations");
  job.gpu_type = text_at(value, "gpu_type");
  job.time_limit_s = real_at(value, "time_limit_s");
  job.submitted_at = time_at(value, "submitted_at");
  job.started_at = time_at(value, "started_at");
  job.finished_at = time_at(value, "finished_at");
  job.exit_code = code_at(value, "exit_code");
  job.ending = text_at(value, "ending");
  job.signal = number_at(value, "signal");
  job.message = text_at(value, "message");
  job.node = text_at(value, "node");
  job.attempt = number_at(value, "attempt");
  if (const auto* spec = field_at(value, "spec")) {
    job.workdir = text_at(*spec, "workdir");
    job.snapshot = !text_at(*spec, "snapshot").empty();
  }
  job.copy = text_at(value, "copy");
  return job;
}

TaskView task_view(const json::value& value) {
  TaskView task;
  task.label = number_at(value, "task");
  task.line = integer_at(value, "line");
  task.command = text_at(value, "command");
  task.state = text_at(value, "state");
  task.attempt = number_at(value, "attempt");
  task.node = text_at(value, "node");
  task.devices = texts_at(value, "devices");
  task.group = text_at(value, "group");
  if (const auto* ports = array_at(value, "ports")) {
    for (const auto& port : *ports) {
      if (port.is_int64()) task.ports.push_back(port.as_int64());
    }
  }
  task.pid = number_at(value, "pid");
  task.started_at = time_at(value, "started_at");
  task.finished_at = time_at(value, "finished_at");
  task.not_before = time_at(value, "not_before");
  task.exit_code = code_at(value, "exit_code");
  task.signal = number_at(value, "signal");
  task.ending = text_at(value, "ending");
  task.message = text_at(value, "message");
  task.cpu_seconds = real_at(value, "cpu_seconds");
  task.peak_memory_mib = number_at(value, "peak_memory_mib");
  if (const auto* gpus = array_at(value, "gpus")) {
    for (const auto& gpu : *gpus) {
      task.gpus.push_back({number_at(gpu, "index"), number_at(gpu, "granted_mib")});
    }
  }
  task.gpu_peak_mib = number_at(value, "gpu_peak_mib");
  task.gpu_utilization = fraction_at(value, "gpu_utilization");
  task.oom_retries = count_at(value, "oom_retries");
  task.stdout_path = text_at(value, "stdout");
  task.stderr_path = text_at(value, "stderr");
  return task;
}

namespace {

void put_measured(const json::value& value, NodeView& node) {
  node.measured_at = time_at(value, "at");
  node.measured_cpus = real_at(value, "cpus");
  node.busy_cpus = real_at(value, "busy_cpus");
  node.measured_memory_mib = number_at(value, "memory_mib");
  node.available_mib = number_at(value, "available_mib");
  const auto* gpus = array_at(value, "gpus");
  if (gpus == nullptr) return;
  for (const auto& gpu : *gpus) {
    node.measured_gpus.push_back({number_at(gpu, "index"), number_at(gpu, "used_mib"),
                                  number_at(gpu, "memory_mib"), real_at(gpu, "utilization")});
  }
}

}  // namespace

TransferView transfer_view(const json::value& value) {
  TransferView transfer;
  transfer.back = text_at(value, "direction") == "from";
  if (const auto* jobs = array_at(value, "jobs")) {
    for (const auto& job : *jobs) {
      if (job.is_int64() && job.as_int64() > 0)
        transfer.jobs.push_back(job.to_number<std::uint64_t>());
    }
  }
  transfer.bytes = number_at(value, "bytes");
  transfer.total_bytes = number_at(value, "total_bytes");
  transfer.seconds = real_at(value, "seconds");
  return transfer;
}

NodeView node_view(const json::value& value) {
  NodeView node;
  node.name = text_at(value, "name");
  node.address = text_at(value, "address");
  node.state = text_at(value, "state");
  node.reason = text_at(value, "reason");
  node.cpus = real_at(value, "cpus");
  node.free_cpus = real_at(value, "free_cpus");
  node.memory_mib = number_at(value, "memory_mib");
  node.free_memory_mib = number_at(value, "free_memory_mib");
  node.labels = texts_at(value, "labels");
  if (const auto* devices = array_at(value, "devices")) {
    for (const auto& device : *devices) {
      node.devices.push_back({text_at(device, "type"), truth_at(device, "emulated")});
    }
  }
  node.max_jobs = count_at(value, "max_jobs");
  node.jobs = count_at(value, "jobs");
  if (const auto* measured = field_at(value, "measured")) put_measured(*measured, node);
  if (const auto* transfers = array_at(value, "transfers")) {
    for (const auto& transfer : *transfers) node.transfers.push_back(transfer_view(transfer));
  }
  return node;
}

ExplanationView explanation_view(const json::value& value) {
  ExplanationView explanation;
  explanation.job = count_at(value, "job");
  explanation.task = number_at(value, "task");
  explanation.state = text_at(value, "state");
  // "Nothing blocks it" is a reason of the API, which always names one, but not of waiting.
  const auto* reasons = array_at(value, "reasons");
  const bool starts =
      reasons != nullptr && reasons->size() == 1 && text_at(reasons->front(), "code") == "starting";
  if (!starts) explanation.reasons = texts_at(value, "reasons");
  if (reasons != nullptr && !reasons->empty()) explanation.code = text_at(reasons->front(), "code");
  explanation.remedies = texts_at(value, "remedies");
  if (const auto* start = field_at(value, "expected_start")) {
    explanation.p50 = time_at(*start, "p50");
    explanation.p90 = time_at(*start, "p90");
    explanation.basis = text_at(*start, "basis");
  }
  if (const auto* configurations = array_at(value, "configurations")) {
    for (const auto& one : *configurations)
      explanation.configurations.push_back(
          {text_at(one, "gpus"), text_at(one, "text"), truth_at(one, "taken")});
  }
  return explanation;
}

StatusView status_view(const json::value& value) {
  StatusView status;
  status.version = text_at(value, "version");
  status.api = number_at(value, "api");
  status.pid = number_at(value, "pid");
  status.keeper_pid = number_at(value, "keeper_pid");
  status.home = text_at(value, "home");
  status.listen = text_at(value, "listen");
  status.started_at = time_at(value, "started_at");
  status.slots = real_at(value, "slots");
  if (const auto* tasks = field_at(value, "tasks")) {
    status.queued = count_at(*tasks, "queued");
    status.starting = count_at(*tasks, "starting");
    status.running = count_at(*tasks, "running");
  }
  status.trouble = text_at(value, "trouble");
  if (const auto* jobs = field_at(value, "jobs")) status.jobs = counts_view(*jobs);
  if (const auto* enforcement = field_at(value, "enforcement")) {
    status.enforcement = text_at(*enforcement, "mode");
    status.enforcement_detail = text_at(*enforcement, "detail");
    status.limits_memory = truth_at(*enforcement, "memory");
    status.limits_cpus = truth_at(*enforcement, "cpus");
  }
  return status;
}

std::vector<JobView> job_views(const json::value& answer) {
  return views(answer, "jobs", job_view);
}
std::vector<TaskView> task_views(const json::value& answer) {
  return views(answer, "tasks", task_view);
}
std::vector<NodeView> node_views(const json::value& answer) {
  return views(answer, "nodes", node_view);
}

}  // namespace tutti
