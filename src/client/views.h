#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace tutti {

// What the daemon says about things, as plain values for rendering. A field that an answer does not
// have keeps its default: a newer daemon may say more, an older one less.

// How many tasks of a job are in each state.
struct CountsView {
  std::uint64_t queued = 0;
  std::uint64_t starting = 0;
  std::uint64_t running = 0;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t skipped = 0;
  std::uint64_t finished() const { return succeeded + failed + cancelled + skipped; }
  std::uint64_t total() const { return queued + starting + running + finished(); }
};

// A job, and how many of its tasks are in each state.
struct JobView {
  std::uint64_t id = 0;
  std::string name;
  std::string user;
  std::string project;
  std::string kind;
  std::string state;
  std::string command;
  std::string shape;
  std::int64_t priority = 0;
  std::uint64_t tasks = 1;
  CountsView counts;
  std::uint64_t max_parallel = 0;
  double cpus = 0;
  std::int64_t memory_mib = 0;
  std::int64_t gpus = 0;
  std::string configurations;  // "4xA100,8xV100"; empty: it has none
  std::string gpu_type;
  double time_limit_s = 0;
  TimePoint submitted_at;
  TimePoint started_at;
  TimePoint finished_at;
  std::optional<int> exit_code;
  // of a job with a single task
  std::string ending;
  std::int64_t signal = 0;
  std::string message;
  std::string node;
  std::int64_t attempt = 0;
  // of one that was asked for by itself
  std::string workdir;
  bool snapshot = false;  // it runs in a copy of that
  std::string copy;       // the one on the daemon's machine; empty: there is none

  bool finished() const {
    return state == "succeeded" || state == "failed" || state == "cancelled" || state == "skipped";
  }
};

// A GPU that a task was granted, and how much of its memory.
struct GrantView {
  std::int64_t index = 0;
  std::int64_t granted_mib = 0;  // 0: not told
};

// A task and its newest attempt.
struct TaskView {
  std::int64_t label = 0;
  std::optional<std::int64_t> line;
  std::string command;
  std::string state;
  std::int64_t attempt = 0;
  std::string node;
  std::vector<std::string> devices;
  std::string group;  // of a rank: the name of its workers
  std::vector<std::int64_t> ports;
  std::int64_t pid = 0;
  TimePoint started_at;
  TimePoint finished_at;
  TimePoint not_before;  // of a queued one: when it runs again
  std::optional<int> exit_code;
  std::int64_t signal = 0;
  std::string ending;
  std::string message;
  double cpu_seconds = 0;
  std::int64_t peak_memory_mib = 0;
  std::vector<GrantView> gpus;
  std::int64_t gpu_peak_mib = 0;  // 0: not measured
  std::optional<double> gpu_utilization;
  std::uint64_t oom_retries = 0;  // runs after it ran out of GPU memory
  std::string stdout_path;
  std::string stderr_path;
};

// What a GPU is, wherever only that matters.
struct DeviceTypeView {
  std::string type;
  bool emulated = false;
  bool operator==(const DeviceTypeView&) const = default;
};

// A GPU of a machine as it was measured last.
struct MeasuredGpuView {
  std::int64_t index = 0;
  std::int64_t used_mib = 0;
  std::int64_t memory_mib = 0;
  double utilization = 0;  // 0 to 1
};

// Files that are being copied to a machine, or from it.
struct TransferView {
  bool back = false;  // from it
  std::vector<std::uint64_t> jobs;
  std::int64_t bytes = 0;
  std::int64_t total_bytes = 0;  // 0: not known
  double seconds = 0;            // since it began
};

// A node: its size, what is free, and if it is elsewhere what was measured and is copied.
struct NodeView {
  std::string name;
  std::string address;  // empty: the daemon's own machine
  std::string state;
  std::string reason;
  double cpus = 0;
  double free_cpus = 0;
  std::int64_t memory_mib = 0;
  std::int64_t free_memory_mib = 0;
  std::vector<std::string> labels;
  std::vector<DeviceTypeView> devices;
  std::uint64_t max_jobs = 0;  // 0: no limit
  std::uint64_t jobs = 0;      // attempts there now
  // As measured, with what others use; of no meaning without measured_at.
  TimePoint measured_at;
  double measured_cpus = 0;
  double busy_cpus = 0;
  std::int64_t measured_memory_mib = 0;
  std::int64_t available_mib = 0;
  std::vector<MeasuredGpuView> measured_gpus;
  std::vector<TransferView> transfers;
};

// Why a job or a task of it waits.
struct ExplanationView {
  std::uint64_t job = 0;
  std::int64_t task = 0;
  bool of_task = false;  // that one was asked about, and not the job
  std::string state;
  std::string code;  // of the first reason
  std::vector<std::string> reasons;
  std::vector<std::string> remedies;
  TimePoint p50;
  TimePoint p90;
  std::string basis;
  struct Configuration {
    std::string gpus;  // "4xA100"
    std::string text;
    bool taken = false;
  };
  std::vector<Configuration> configurations;  // the best first
};

// The daemon itself, and how many tasks it has in each state.
struct StatusView {
  std::string version;
  std::int64_t api = 0;
  std::int64_t pid = 0;
  std::int64_t keeper_pid = 0;
  std::string home;
  std::string listen;  // empty: only at its socket
  TimePoint started_at;
  double slots = 0;
  std::uint64_t queued = 0;
  std::uint64_t starting = 0;
  std::uint64_t running = 0;
  CountsView jobs;
  std::string enforcement;
  std::string enforcement_detail;
  std::string trouble;  // what keeps the daemon from working properly, such as a full disk
  bool limits_memory = false;
  bool limits_cpus = false;
};

JobView job_view(const boost::json::value& value);
TaskView task_view(const boost::json::value& value);
NodeView node_view(const boost::json::value& value);
ExplanationView explanation_view(const boost::json::value& value);
StatusView status_view(const boost::json::value& value);

// The elements of an answer such as {"jobs": [...], "next_before": 7}.
std::vector<JobView> job_views(const boost::json::value& answer);
std::vector<TaskView> task_views(const boost::json::value& answer);
std::vector<NodeView> node_views(const boost::json::value& answer);
// The integer under `key` of an object, or nothing.
std::optional<std::int64_t> integer_at(const boost::json::value& value, std::string_view key);
// The string under `key` (or its bytes if it came as base64), or empty.
std::string text_at(const boost::json::value& value, std::string_view key);

}  // namespace tutti
