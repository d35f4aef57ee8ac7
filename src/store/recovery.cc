#include "store/recovery.h"

#include <algorithm>

#include "store/job_rows.h"
#include "store/record_codec.h"
#include "store/round_writer.h"

namespace tutti {
namespace {

using Jobs = std::vector<Recovered::UnfinishedJob>;

Result<Jobs> read_unfinished(Connection& connection) {
  Jobs jobs;
  // The index answers this without looking at finished jobs.
  Query query = connection.query("SELECT " TUTTI_JOB_FACT_COLUMNS " FROM jobs WHERE state < 3");
  for (;;) {
    const auto row = query.next();
    if (!row) return row.error();
    if (!*row) break;
    auto& job = jobs.emplace_back();
    if (!read_job_facts(query, job.row, job.facts))
      return connection.corrupt("row of " + job_words(job.row.id));
  }
  const auto older = [](const auto& a, const auto& b) { return a.row.id < b.row.id; };
  if (!std::is_sorted(jobs.begin(), jobs.end(), older)) std::sort(jobs.begin(), jobs.end(), older);
  return jobs;
}

// Walks the tasks table and the jobs, both in order of id. Rows of finished jobs are stepped over
// one by one while they are few, and by a new seek when they are many.
Result<void> read_tasks_of(Connection& connection, Jobs& jobs) {
  constexpr int kStepsBeforeSeek = 16;
  Query query =
      connection.query("SELECT job, idx, state, body FROM tasks WHERE job >= ? ORDER BY job, idx");
  auto job = jobs.begin();
  int steps = kStepsBeforeSeek;
  while (job != jobs.end()) {
    if (steps == kStepsBeforeSeek) {
      steps = 0;
      query.reset();
      query.integer(static_cast<std::int64_t>(job->row.id.value));
    }
    const auto row = query.next();
    if (!row) return row.error();
    if (!*row) return {};
    const JobId id(static_cast<std::uint64_t>(query.integer_at(0)));
    if (job->row.id < id)
      job = std::lower_bound(job, jobs.end(), id,
                             [](const auto& a, JobId b) { return a.row.id < b; });
    if (job == jobs.end()) return {};
    if (job->row.id != id) {
      ++steps;
      continue;
    }
    steps = 0;
    TaskRow& task = job->tasks.emplace_back();
    task.task.job = id;
    if (!read_task(query, 1, task)) return connection.corrupt("a task of " + job_words(id));
  }
  return {};
}

Result<void> read_nodes(Connection& connection, std::vector<Node>& nodes) {
  Query query = connection.query("SELECT state, reason, body FROM nodes ORDER BY id");
  for (;;) {
    const auto row = query.next();
    if (!row) return row.error();
    if (!*row) return {};
    Node& node = nodes.emplace_back();
    const std::int64_t state = query.integer_at(0);
    const bool known = state >= 0 && state <= static_cast<std::int64_t>(Node::State::kGone);
    if (!known || !decode_node(query.bytes_at(2), node)) return connection.corrupt("row of a node");
    node.state = static_cast<Node::State>(state);
    node.state_reason.assign(query.bytes_at(1));
  }
}

Result<void> read_profiles(Connection& connection, Recovered& recovered) {
  Query query = connection.query("SELECT kind, body FROM profiles ORDER BY kind");
  for (;;) {
    const auto row = query.next();
    if (!row) return row.error();
    if (!*row) return {};
    auto& [kind, profile] = recovered.profiles.emplace_back();
    kind.assign(query.bytes_at(0));
    if (!decode_profile(query.bytes_at(1), profile)) return connection.corrupt("row of a profile");
  }
}

Result<void> read_speeds(Connection& connection, SpeedTable& speeds) {
  Query query = connection.query(
      "SELECT model, parameters, batch, type, nodes, per_node, stages, seconds FROM speeds");
  for (;;) {
    const auto row = query.next();
    if (!row) return row.error();
    if (!*row) return {};
    SpeedCell cell;
    cell.run.name.assign(query.bytes_at(0));
    cell.run.parameters = static_cast<std::uint64_t>(query.integer_at(1));
    cell.run.batch = static_cast<std::uint64_t>(query.integer_at(2));
    cell.shape.type.assign(query.bytes_at(3));
    cell.shape.nodes = static_cast<std::uint32_t>(query.integer_at(4));
    cell.shape.per_node = static_cast<std::uint32_t>(query.integer_at(5));
    cell.stages = static_cast<std::uint32_t>(query.integer_at(6));
    const double seconds = query.real_at(7);
    if (!(seconds >= 0) || cell.shape.devices() == 0) return connection.corrupt("row of a speed");
    speeds.set(std::move(cell), {seconds});
  }
}

Result<void> read_usage(Connection& connection, Recovered& recovered) {
  Query query = connection.query(
      "SELECT project, user, cpu_seconds, as_of FROM usage ORDER BY project, user");
  for (;;) {
    const auto row = query.next();
    if (!row) return row.error();
    if (!*row) return {};
    auto& record = recovered.usage.emplace_back();
    record.account.project.assign(query.bytes_at(0));
    record.account.user.assign(query.bytes_at(1));
    record.cpu_seconds = query.real_at(2);
    record.as_of = TimePoint(query.integer_at(3));
  }
}

}  // namespace

Result<Recovered> read_recovered(Connection& connection) {
  Recovered recovered;
  const auto newest = connection.number("SELECT max(id) FROM jobs");
  if (!newest) return newest.error();
  const auto tally = read_tally(connection);
  if (!tally) return tally.error();
  recovered.next_job = std::max(static_cast<std::uint64_t>(*newest) + 1, tally->next_job);
  recovered.next_lane = tally->next_lane;

  auto jobs = read_unfinished(connection);
  if (!jobs) return jobs.error();
  recovered.jobs = std::move(*jobs);
  if (auto read = read_tasks_of(connection, recovered.jobs); !read) return read.error();
  if (auto read = read_nodes(connection, recovered.nodes); !read) return read.error();
  if (auto read = read_profiles(connection, recovered); !read) return read.error();
  if (auto read = read_speeds(connection, recovered.speeds); !read) return read.error();
  if (auto read = read_usage(connection, recovered); !read) return read.error();
  return recovered;
}

}  // namespace tutti
