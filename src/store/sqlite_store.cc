#include "store/sqlite_store.h"

#include "store/event_codec.h"
#include "store/job_rows.h"
#include "store/recovery.h"
#include "store/schema.h"

namespace tutti {

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& path) {
  auto connection = open_writer(path);
  if (!connection) return connection.error();
  const auto tally = read_tally(**connection);
  if (!tally) return tally.error();
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(*connection), *tally));
}

Result<void> SqliteStore::commit(const Round& round) {
  return writer_.commit(round);
}

Result<Recovered> SqliteStore::recover() {
  return read_recovered(*connection_);
}

Result<JobSpec> SqliteStore::load_spec(JobId job) {
  return find_spec(*connection_, job);
}

Result<std::vector<std::string>> SqliteStore::load_lines(JobId job, std::uint32_t first,
                                                         std::uint32_t count) {
  auto lines = lines_.read(*connection_, job, first, count);
  if (lines && lines->size() < count)
    return not_found(job_words(job) + " has no line at position " +
                     std::to_string(std::uint64_t{first} + lines->size()));
  return lines;
}

Result<JobRow> SqliteStore::load_job(JobId job) {
  const auto stored = find_job(*connection_, job);
  if (!stored) return stored.error();
  return stored->row;
}

Result<std::vector<TaskRow>> SqliteStore::load_tasks(JobId job) {
  return find_tasks(*connection_, job);
}

Result<bool> SqliteStore::prune(const PruneStep& step) {
  return writer_.prune(step);
}

Result<std::vector<Event>> SqliteStore::read_journal(std::uint64_t from, std::uint32_t limit) {
  Query query =
      connection_->query("SELECT at, kind, body FROM journal WHERE seq >= ? ORDER BY seq LIMIT ?");
  query.integer(static_cast<std::int64_t>(from)).integer(limit);
  std::vector<Event> events;
  for (;;) {
    const auto row = query.next();
    if (!row) return row.error();
    if (!*row) return events;
    auto event = decode({query.integer_at(0), query.integer_at(1), query.bytes_at(2)});
    if (!event) return event.error();
    events.push_back(std::move(*event));
  }
}

}  // namespace tutti
