#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api/event_hub.h"
#include "api/services.h"
#include "control/lease_desk.h"
#include "control/node_monitor.h"
#include "control/snapshots.h"

namespace tutti {

// Records what is asked and answers at once, on the caller's thread.
class FakeFront : public Front {
 public:
  void submit(std::vector<JobSpec> specs, bool dry_run, Reply<Submitted> reply) override {
    submitted = std::move(specs);
    was_dry_run = dry_run;
    Submitted answer;
    for (std::size_t i = 0; i < submitted.size(); ++i) {
      if (dry_run) {
        answer.explanations.emplace_back();
      } else {
        answer.jobs.push_back(JobId(100 + i));
      }
    }
    error ? reply(*error) : reply(answer);
  }
  void cancel(std::vector<Selection> selections, Reply<Changed> reply) override {
    selected = std::move(selections);
    error ? reply(*error) : reply(Changed{2, {selected.front().job}});
  }
  void cancel_all(Reply<Changed> reply) override {
    cancelled_all = true;
    reply(Changed{7, {JobId(1), JobId(2)}});
  }
  void retry(Selection selection, Reply<Changed> reply) override {
    selected = {std::move(selection)};
    error ? reply(*error) : reply(Changed{1, {selected.front().job}});
  }
  void explain(JobId job, std::uint32_t task, Reply<Explanation> reply) override {
    explained_task = task;
    Explanation explanation;
    explanation.job = job;
    explanation.task = task == kAnyTask ? 0 : task;
    Reason reason;
    reason.code = ReasonCode::kCpus;
    reason.wanted = 4000;
    reason.available = 1000;
    reason.capacity = 8000;
    reason.node = "here";
    explanation.reasons = {reason};
    reply(explanation);
  }
  void status(Reply<Status> reply) override {
    Status answer;
    answer.running = 1;
    Node node;
    node.id = NodeId(1);
    node.name = "here";
    node.cpus = MilliCpu(8000);
    node.free_cpus = MilliCpu(6500);
    node.labels = {"ssd"};
    if (here_is_elsewhere) node.remote.address = "here";
    node.devices.push_back({DeviceId(0), "A100", "GPU-1", MiB(40960), MiB(1024), {}, 1, true});
    answer.nodes = {node};
    reply(answer);
  }
  void add_node(Node node, Reply<Node> reply) override {
    if (node.name == "here") return reply(conflict("there is a node 'here' already"));
    added = node;
    node.id = NodeId(2);
    node.state = Node::State::kDown;
    node.state_reason = "connecting";
    reply(node);
  }
  void set_node_limit(std::string name, std::uint32_t max_jobs, Reply<Node> reply) override {
    if (name != "box") return reply(not_found("there is no node '" + name + "'"));
    Node node;
    node.name = name;
    node.max_jobs = max_jobs;
    reply(node);
  }
  void remove_node(std::string name, bool force, Reply<Node> reply) override {
    if (name != "box") return reply(not_found("there is no node '" + name + "'"));
    if (!force) return reply(conflict("an attempt of node 'box' still runs"));
    Node node;
    node.name = name;
    node.state = Node::State::kGone;
    reply(node);
  }
  void set_node_state(std::string node, Node::State state, std::string reason,
                      Reply<Node> reply) override {
    if (node != "here") return reply(not_found("there is no node '" + node + "'"));
    Node answer;
    answer.name = node;
    answer.state = state;
    answer.state_reason = reason;
    reply(answer);
  }

  void device_holders(Reply<DeviceHolders> reply) override {
    if (error) return reply(*error);
    status([&](const Result<Status>& answer) { reply(DeviceHolders{answer->nodes, {}}); });
  }
  void profiles(Reply<Profiles> reply) override { reply(known_profiles); }
  void set_profiles(std::vector<std::pair<std::string, std::optional<Profile>>> changed,
                    Reply<Changed> reply) override {
    if (error) return reply(*error);
    set = std::move(changed);
    reply(Changed{set.size(), {}});
  }

  void prune(PruneStep step, Reply<bool> reply) override {
    pruned.push_back(std::move(step));
    error ? reply(*error) : reply(false);
  }
  void speeds(Reply<SpeedTable> reply) override { reply(known_speeds); }
  void set_speeds(std::vector<SpeedChange> changes, Reply<Changed> reply) override {
    if (error) return reply(*error);
    set_cells = std::move(changes);
    reply(Changed{set_cells.size(), {}});
  }

  std::vector<PruneStep> pruned;
  SpeedTable known_speeds;
  std::vector<SpeedChange> set_cells;
  Profiles known_profiles;
  std::vector<std::pair<std::string, std::optional<Profile>>> set;
  std::optional<Error> error;  // answered instead, if set
  Node added;
  bool here_is_elsewhere = false;
  std::vector<JobSpec> submitted;
  bool was_dry_run = false;
  std::vector<Selection> selected;
  bool cancelled_all = false;
  std::uint32_t explained_task = 0;
};

// Jobs in memory. Safe from any thread, so that a test may change what a server shows.
class FakeHistory : public History {
 public:
  struct Job {
    JobSummary summary;
    JobSpec spec;
    std::vector<TaskRow> rows;
    std::vector<std::string> lines;
  };

  // Adds a queued job, or replaces one.
  void put(Job job) {
    const std::lock_guard lock(mutex_);
    jobs_[job.summary.row.id] = std::move(job);
  }
  Job get(JobId id) {
    const std::lock_guard lock(mutex_);
    return jobs_.at(id);
  }

  Result<std::vector<JobSummary>> list(const JobFilter& filter) override {
    const std::lock_guard lock(mutex_);
    last_filter = filter;
    std::vector<JobSummary> found;
    for (auto job = jobs_.rbegin(); job != jobs_.rend(); ++job) {
      const bool older = filter.before.value == 0 || job->first < filter.before;
      if (older && found.size() < filter.limit) found.push_back(job->second.summary);
    }
    return found;
  }
  Result<JobSummary> summary(JobId id) override {
    const std::lock_guard lock(mutex_);
    const auto job = jobs_.find(id);
    if (job == jobs_.end()) return missing(id);
    return job->second.summary;
  }
  Result<JobSpec> spec(JobId id) override {
    const std::lock_guard lock(mutex_);
    const auto job = jobs_.find(id);
    if (job == jobs_.end()) return missing(id);
    return job->second.spec;
  }
  Result<std::vector<TaskRow>> tasks(JobId id, const TaskFilter& filter) override {
    const std::lock_guard lock(mutex_);
    const auto job = jobs_.find(id);
    if (job == jobs_.end()) return missing(id);
    std::vector<TaskRow> rows;
    for (const TaskRow& row : job->second.rows) {
      const bool wanted = filter.states.empty() ||
                          std::count(filter.states.begin(), filter.states.end(), row.state) > 0;
      if (row.task.index >= filter.from && wanted && rows.size() < filter.limit) {
        rows.push_back(row);
      }
    }
    return rows;
  }
  Result<std::vector<std::string>> lines(JobId id, std::uint32_t first,
                                         std::uint32_t count) override {
    const std::lock_guard lock(mutex_);
    const auto& all = jobs_.at(id).lines;
    const std::size_t end = std::min<std::size_t>(all.size(), std::size_t{first} + count);
    return std::vector<std::string>(all.begin() + first, all.begin() + static_cast<long>(end));
  }
  Result<std::vector<TaskRow>> earlier_attempts(TaskId) override { return std::vector<TaskRow>(); }
  Result<TaskCounts> job_counts() override {
    TaskCounts counts;
    counts[TaskState::kSucceeded] = 5;
    return counts;
  }
  Result<JobId> last_job() override {
    const std::lock_guard lock(mutex_);
    if (jobs_.empty()) return not_found("there is no job yet");
    return jobs_.rbegin()->first;
  }

  JobFilter last_filter;

 private:
  static Error missing(JobId id) {
    return not_found("there is no job " + std::to_string(id.value));
  }
  std::mutex mutex_;
  std::map<JobId, Job> jobs_;
};

// Keeps blobs in memory and believes their digests, but for the content "wrong".
class FakeSnapshots : public Snapshots {
 public:
  Result<std::vector<std::string>> missing(const SnapshotManifest& manifest) override {
    std::vector<std::string> digests;
    for (const auto& entry : manifest) {
      if (!entry.sha256.empty() && !blobs.contains(entry.sha256)) digests.push_back(entry.sha256);
    }
    return digests;
  }
  Result<void> put_blob(const std::string& sha256, std::string_view bytes) override {
    if (bytes == "wrong") return invalid_input("the content has another digest");
    blobs[sha256] = bytes;
    return {};
  }
  Result<std::string> keep_file(const SeenFile& file, const Wanted& /*wanted*/) override {
    if (file.path == "/full") return io_error("cannot write", ENOSPC);
    if (file.path != "/here") return not_found("there is no file '" + file.path + "'");
    kept.push_back(file);
    return std::string(64, 'c');
  }
  Result<std::string> save(const SnapshotManifest& manifest) override {
    saved = manifest;
    return std::string("digest-1");
  }
  bool use(const std::string& digest) override { return digest == "digest-1"; }
  std::map<std::string, std::string> blobs;
  SnapshotManifest saved;
  std::vector<SeenFile> kept;
};

class FakeClock : public Clock {
 public:
  TimePoint now() override { return TimePoint(1767323045000000); }
};

// Runs nothing.
class FakeExecutor : public Executor {
 public:
  Result<void> attach(const Known& /*known*/, ReportSink& /*sink*/) override { return {}; }
  void order(std::vector<Effect> /*effects*/) override {}
  void journalled(std::span<const AttemptId> /*ended*/) override {}
};

// Measurements in memory.
class FakeMonitor : public NodeMonitor {
 public:
  std::optional<NodeMeasurement> latest(NodeId node) const override {
    const auto found = known.find(node);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<NodeTransfer> transfers(NodeId node) const override {
    const auto found = copied.find(node);
    return found == copied.end() ? std::vector<NodeTransfer>() : found->second;
  }
  void measure_now(NodeId node) override { asked.push_back(node); }
  std::map<NodeId, std::vector<NodeTransfer>> copied;
  std::map<NodeId, NodeMeasurement> known;
  std::vector<NodeId> asked;
};

// All of them together.
struct FakeWorld {
  FakeFront front;
  FakeHistory history;
  FakeSnapshots snapshots;
  FakeClock clock;
  FakeExecutor executor;
  FakeMonitor machines;
  LeaseDesk leases{executor, clock};
  EventHub events;
  std::string log_folder = "/nonexistent";
  bool stopped = false;

  Services services() {
    return Services{front,
                    history,
                    events,
                    clock,
                    &snapshots,
                    &leases,
                    nullptr,
                    &machines,
                    nullptr,
                    log_folder,
                    [] {
                      StatusFacts facts;
                      facts.version = "1.2.3";
                      facts.pid = 42;
                      facts.home = "/home/x";
                      facts.slots = MilliCpu(2500);
                      facts.enforcement_mode = "process group";
                      return facts;
                    },
                    [this] { stopped = true; }};
  }

  // A job of `count` tasks with a row each, labels from 1 unless it is single.
  FakeHistory::Job job(std::uint64_t id, std::uint32_t count = 1,
                       TaskSet::Shape shape = TaskSet::Shape::kSingle) {
    FakeHistory::Job made;
    JobSummary& summary = made.summary;
    summary.row.id = JobId(id);
    summary.row.submitted_at = TimePoint(1000000);
    summary.row.counts[TaskState::kQueued] = count;
    summary.name = "name";
    summary.user = "user";
    summary.project = "default";
    summary.kind = "kind";
    summary.command = "echo hi";
    summary.tasks.shape = shape;
    summary.tasks.count = count;
    summary.tasks.first = shape == TaskSet::Shape::kSingle ? 0 : 1;
    made.spec.name = "name";
    made.spec.command.shell = "echo hi";
    made.spec.env = {"SECRET=1"};
    made.spec.workdir = "/work";
    made.spec.tasks = summary.tasks;
    for (std::uint32_t i = 0; i < count; ++i) {
      TaskRow row;
      row.task = {JobId(id), i};
      made.rows.push_back(row);
    }
    return made;
  }
};

// Moves a job's tasks to a state, with everything that follows from it.
inline void set_state(FakeHistory::Job& job, TaskState state, std::uint32_t attempts = 1) {
  JobRow& row = job.summary.row;
  row.state = state;
  row.counts = {};
  row.counts[state] = job.summary.tasks.count;
  if (state != TaskState::kQueued) row.started_at = TimePoint(2000000);
  row.finished_at = is_final(state) ? TimePoint(3000000) : TimePoint();
  row.exit_status = state == TaskState::kFailed ? 3 : 0;
  for (TaskRow& task : job.rows) {
    task.state = state;
    task.attempts = attempts;
    task.node = NodeId(1);
    task.started_at = row.started_at;
    task.ended_at = row.finished_at;
    task.outcome.exit_code = row.exit_status;
  }
}

}  // namespace tutti
