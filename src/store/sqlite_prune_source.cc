#include "store/sqlite_prune_source.h"

#include <algorithm>

#include "core/spec/text.h"
#include "store/job_rows.h"
#include "store/record_codec.h"
#include "store/round_writer.h"
#include "store/schema.h"

namespace tutti {
namespace {

// The first of the states in which a job has ended.
constexpr auto kFirstFinal = static_cast<std::int64_t>(TaskState::kSucceeded);

// Sorts one job into what goes and what stays. The query's columns: id, state, finished_at,
// task_count.
void sort_in(const Query& query, TimePoint before, const std::set<JobId>& needed, Prunable& found) {
  const JobId id(static_cast<std::uint64_t>(query.integer_at(0)));
  if (query.integer_at(1) < kFirstFinal)
    ++found.unfinished;
  else if (TimePoint(query.integer_at(2)) > before)
    ++found.recent;
  else if (needed.contains(id))
    ++found.needed;
  else
    found.jobs.push_back({id, static_cast<std::uint32_t>(query.integer_at(3))});
}

// The smallest number that no job has had yet.
Result<std::uint64_t> next_number(Connection& connection) {
  const auto newest = connection.number("SELECT max(id) FROM jobs");
  if (!newest) return newest.error();
  const auto tally = read_tally(connection);
  if (!tally) return tally.error();
  return std::max(static_cast<std::uint64_t>(*newest) + 1, tally->next_job);
}

}  // namespace

Result<std::unique_ptr<PruneSource>> SqlitePruneSource::open(const std::string& home,
                                                             GoesOn goes_on) {
  auto connection = open_reader(home + "/tutti.db");
  if (!connection) return connection.error();
  return std::unique_ptr<PruneSource>(
      new SqlitePruneSource(home, std::move(goes_on), std::move(*connection)));
}

Result<bool> SqlitePruneSource::next_row(Query& query) const {
  if (!goes_on_()) return prune_was_stopped();
  return query.next();
}

// What jobs that have not ended were submitted to start after: that still tells why they wait.
Result<void> SqlitePruneSource::add_awaited(std::set<JobId>& needed) {
  Query query =
      connection_->query("SELECT waits_for FROM jobs WHERE state < ? AND waits_for IS NOT NULL");
  query.integer(kFirstFinal);
  for (;;) {
    const auto row = next_row(query);
    if (!row) return row.error();
    if (!*row) return {};
    std::vector<Dependency> after;
    if (!decode_dependencies(query.bytes_at(0), after))
      return connection_->corrupt("what a job waits for");
    for (const Dependency& dependency : after) needed.insert(dependency.job);
  }
}

// Those in whose copies jobs run that have not ended: a job may submit others from where it is.
Result<void> SqlitePruneSource::add_hosts(std::set<JobId>& needed) {
  const std::string copies = home_ + "/work/";
  Query query = connection_->query(
      "SELECT specs.body FROM jobs JOIN specs ON specs.job = jobs.id WHERE jobs.state < ?");
  query.integer(kFirstFinal);
  for (;;) {
    const auto row = next_row(query);
    if (!row) return row.error();
    if (!*row) return {};
    JobSpec spec;
    if (!decode_spec(query.bytes_at(0), spec)) return connection_->corrupt("spec of a job");
    if (!spec.workdir.starts_with(copies)) continue;
    const std::string host = spec.workdir.substr(copies.size());
    const auto number = parse_digits(host.substr(0, host.find('/')), INT64_MAX);
    if (number) needed.insert(JobId(*number));
  }
}

Result<Prunable> SqlitePruneSource::prunable(const PruneRequest& request) {
  Transaction snapshot(*connection_);
  if (auto begun = snapshot.begin_read(); !begun) return begun.error();
  std::set<JobId> needed;
  if (auto added = add_awaited(needed); !added) return added.error();
  if (auto added = add_hosts(needed); !added) return added.error();
  Prunable found;
  if (request.jobs.empty()) {
    Query all =
        connection_->query("SELECT id, state, finished_at, task_count FROM jobs ORDER BY id");
    for (;;) {
      const auto row = next_row(all);
      if (!row) return row.error();
      if (!*row) return found;
      sort_in(all, request.before, needed, found);
    }
  }
  Query one =
      connection_->query("SELECT id, state, finished_at, task_count FROM jobs WHERE id = ?");
  for (const JobId id : std::set<JobId>(request.jobs.begin(), request.jobs.end())) {
    const auto row = next_row(one.integer(static_cast<std::int64_t>(id.value)));
    if (!row) return row.error();
    if (!*row) return not_found("there is no " + job_words(id));
    sort_in(one, request.before, needed, found);
    one.reset();
  }
  return found;
}

Result<Remaining> SqlitePruneSource::remaining(const std::set<JobId>& without) {
  Transaction snapshot(*connection_);
  if (auto begun = snapshot.begin_read(); !begun) return begun.error();
  Remaining remaining;
  const auto next = next_number(*connection_);
  if (!next) return next.error();
  remaining.newest = JobId(*next - 1);
  std::set<std::int64_t> used;
  Query specs = connection_->query(
      "SELECT specs.job, specs.environment, specs.body, jobs.id FROM specs "
      "LEFT JOIN jobs ON jobs.id = specs.job ORDER BY specs.job");
  for (;;) {
    const auto row = next_row(specs);
    if (!row) return row.error();
    if (!*row) break;
    const JobId id(static_cast<std::uint64_t>(specs.integer_at(0)));
    if (specs.null_at(3)) {
      remaining.halves.push_back(id);
      continue;
    }
    if (without.contains(id)) continue;
    used.insert(specs.integer_at(1));
    JobSpec spec;
    if (!decode_spec(specs.bytes_at(2), spec))
      return connection_->corrupt("spec of " + job_words(id));
    if (!spec.snapshot.empty()) remaining.snapshots.insert(std::move(spec.snapshot));
  }
  Query environments = connection_->query("SELECT id FROM environments");
  for (;;) {
    const auto row = next_row(environments);
    if (!row) return row.error();
    if (!*row) return remaining;
    if (!used.contains(environments.integer_at(0)))
      remaining.environments.push_back(environments.integer_at(0));
  }
}

bool SqlitePruneSource::is_known(JobId job) {
  if (job == asked_) return known_;
  asked_ = job;
  known_ = true;
  Query query = connection_->query("SELECT 1 FROM jobs WHERE id = ?");
  const auto row = query.integer(static_cast<std::int64_t>(job.value)).next();
  if (!row || *row) return known_;
  const auto next = next_number(*connection_);
  known_ = !next || job.value >= *next;
  return known_;
}

}  // namespace tutti
