#include "daemon/recording.h"

#include <algorithm>
#include <filesystem>

#include "store/recovery.h"
#include "store/schema.h"
#include "store/sqlite_history.h"

namespace tutti {
namespace {

constexpr std::uint32_t kJobsAtOnce = 500;
constexpr std::uint32_t kTasksAtOnce = 10'000;

// What was measured of speeds, and nodes as they would be for somebody else: without what is on
// them at present.
Result<void> read_cluster_of(const std::string& database, Recording& recording) {
  const auto connection = open_reader(database);
  if (!connection) return connection.error();
  Result<Recovered> recovered = read_recovered(**connection);
  if (!recovered) return recovered.error();
  recording.speeds = std::move(recovered->speeds);
  for (Node& node : recovered->nodes) {
    if (node.state == Node::State::kGone) continue;
    node.state = Node::State::kUp;
    node.state_reason.clear();
    node.foreign_cpus = MilliCpu();
    node.foreign_memory = MiB();
    node.keeps_backlog = false;
    for (Device& device : node.devices) {
      device.foreign = MiB();
      device.healthy = true;
    }
    recording.nodes.push_back(std::move(node));
  }
  return {};
}

// What nobody had said of its devices is what it was granted of them.
void take_grant(const std::vector<Node>& nodes, const TaskRow& row, Request& request) {
  DeviceRequest& wanted = request.devices;
  if (!wanted.unknown() || row.devices.empty() || row.measuring) return;
  const DeviceGrant& grant = row.devices.front();
  const auto node =
      std::find_if(nodes.begin(), nodes.end(), [&](const Node& one) { return one.id == row.node; });
  if (node == nodes.end() || grant.id.value >= node->devices.size()) return;
  if (grant.memory >= node->devices[grant.id.value].memory) return;
  wanted.memory = grant.memory;
  wanted.share = grant.share;
}

// The devices that a task had.
std::optional<Configuration> had_by(const std::vector<Node>& nodes, const TaskRow& row) {
  const auto node =
      std::find_if(nodes.begin(), nodes.end(), [&](const Node& one) { return one.id == row.node; });
  if (row.devices.empty() || node == nodes.end()) return std::nullopt;
  const std::uint32_t first = row.devices.front().id.value;
  if (first >= node->devices.size()) return std::nullopt;
  return Configuration{node->devices[first].type, static_cast<std::uint32_t>(row.devices.size())};
}

// How long the task ran, with all attempts that failed before the last: they held what it asks for,
// too.
Result<Duration> run_of(SqliteHistory& history, JobId job, const TaskRow& row) {
  Duration ran = std::max(row.ended_at - row.started_at, Duration(0));
  if (row.attempts < 2) return ran;
  const Result<std::vector<TaskRow>> earlier = history.earlier_attempts({job, row.task.index});
  if (!earlier) return earlier.error();
  for (const TaskRow& attempt : *earlier) {
    if (attempt.started_at && attempt.ended_at > attempt.started_at)
      ran = ran + (attempt.ended_at - attempt.started_at);
  }
  return ran;
}

// Whether enough of the job has ended to repeat it.
Result<bool> read_runs(SqliteHistory& history, const std::vector<Node>& nodes, JobId id,
                       RecordedJob& job) {
  const std::uint32_t tasks = job.spec.tasks.count;
  job.unknown = job.spec.request.devices.unknown();
  for (std::uint32_t from = 0; from < tasks; from += kTasksAtOnce) {
    TaskFilter filter;
    filter.from = from;
    filter.limit = kTasksAtOnce;
    const Result<std::vector<TaskRow>> rows = history.tasks(id, filter);
    if (!rows) return rows.error();
    for (const TaskRow& row : *rows) {
      if (!is_final(row.state) || !row.started_at || !row.ended_at) continue;
      const Result<Duration> ran = run_of(history, id, row);
      if (!ran) return ran.error();
      job.runs.push_back(*ran);
      if (row.outcome.ending == Ending::kTimeout) job.timed_out = true;
      if (row.measuring) job.measured = true;
      take_grant(nodes, row, job.spec.request);
      if (job.runs.size() == 1) job.had = had_by(nodes, row);
    }
  }
  if (job.spec.tasks.shape == TaskSet::Shape::kGang) return job.runs.size() == tasks;
  job.spec.tasks.count = static_cast<std::uint32_t>(job.runs.size());
  return !job.runs.empty();
}

Result<void> read_jobs_of(SqliteHistory& history, TimePoint since, Recording& recording) {
  JobFilter filter;
  filter.limit = kJobsAtOnce;
  for (;;) {
    const Result<std::vector<JobSummary>> page = history.list(filter);
    if (!page) return page.error();
    for (const JobSummary& summary : *page) {
      filter.before = summary.row.id;
      if (since && summary.row.submitted_at < since) return {};
      Result<JobSpec> spec = history.spec(summary.row.id);
      if (!spec) return spec.error();
      if (spec->lease) continue;
      RecordedJob job{summary.row.id, *std::move(spec), summary.row.submitted_at, {}, {}};
      const Result<bool> whole = read_runs(history, recording.nodes, summary.row.id, job);
      if (!whole) return whole.error();
      if (*whole)
        recording.jobs.push_back(std::move(job));
      else
        ++recording.left_out;
    }
    if (page->size() < kJobsAtOnce) return {};
  }
}

}  // namespace

Result<Recording> read_recording(const std::string& home, TimePoint since) {
  const std::string database = home + "/tutti.db";
  if (!std::filesystem::exists(database))
    return not_found("there is no history in " + home + "; $TUTTI_HOME says where it is");
  Recording recording;
  if (const Result<void> read = read_cluster_of(database, recording); !read) return read.error();
  const auto history = SqliteHistory::open(database);
  if (!history) return history.error();
  if (const Result<void> read = read_jobs_of(**history, since, recording); !read)
    return read.error();
  std::reverse(recording.jobs.begin(), recording.jobs.end());
  std::stable_sort(
      recording.jobs.begin(), recording.jobs.end(),
      [](const RecordedJob& a, const RecordedJob& b) { return a.submitted_at < b.submitted_at; });
  return recording;
}

}  // namespace tutti
