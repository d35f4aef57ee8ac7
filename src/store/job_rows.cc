#include "store/job_rows.h"

#include <limits>

#include "store/record_codec.h"

namespace tutti {
namespace {

// Takes the columns of a row one after the other, and remembers whether each was in range.
class ColumnReader {
 public:
  ColumnReader(const Query& query, int column) : query_(query), column_(column) {}

  bool good() const { return good_; }

  template <typename Number>
  Number number() {
    const std::int64_t value = query_.integer_at(column_++);
    if constexpr (sizeof(Number) < sizeof(value))
      good_ = good_ && value >= std::numeric_limits<Number>::min() &&
              value <= std::numeric_limits<Number>::max();
    return static_cast<Number>(value);
  }
  template <typename Enum>
  Enum choice(Enum last) {
    const std::int64_t value = query_.integer_at(column_++);
    good_ = good_ && value >= 0 && value <= static_cast<std::int64_t>(last);
    return static_cast<Enum>(value);
  }
  TimePoint time() { return TimePoint(number<std::int64_t>()); }
  void text(std::string& value) { value.assign(query_.bytes_at(column_++)); }
  template <typename Record>
  void blob(bool (*decode)(std::string_view, Record&), Record& record) {
    good_ = good_ && decode(query_.bytes_at(column_++), record);
  }
  template <typename Record>
  void optional_blob(bool (*decode)(std::string_view, Record&), Record& record) {
    if (query_.null_at(column_))
      ++column_;
    else
      blob(decode, record);
  }

 private:
  const Query& query_;
  int column_;
  bool good_ = true;
};

// Flags of the column `limits`.
constexpr std::uint32_t kLimitCpus = 1;
constexpr std::uint32_t kLimitMemory = 2;
constexpr std::uint32_t kLease = 4;

void read_request(ColumnReader& columns, JobFacts& facts) {
  Request& request = facts.request;
  request.cpus = MilliCpu(columns.number<std::int64_t>());
  request.memory = MiB(columns.number<std::int64_t>());
  const auto limits = columns.number<std::uint32_t>();
  request.limit_cpus = (limits & kLimitCpus) != 0;
  request.limit_memory = (limits & kLimitMemory) != 0;
  facts.lease = (limits & kLease) != 0;
  columns.optional_blob(decode_rare_facts, facts);
}

}  // namespace

bool read_job_facts(const Query& query, JobRow& row, JobFacts& facts) {
  ColumnReader columns(query, 0);
  row.id = JobId(columns.number<std::uint64_t>());
  row.state = columns.choice(TaskState::kSkipped);
  row.rest = columns.choice(TaskState::kSkipped);
  columns.blob(decode_counts, row.counts);
  row.submitted_at = columns.time();
  row.started_at = columns.time();
  row.finished_at = columns.time();
  row.exit_status = columns.number<int>();
  facts.id = row.id;
  columns.text(facts.user);
  columns.text(facts.project);
  columns.text(facts.kind);
  facts.tasks.shape = columns.choice(TaskSet::Shape::kGang);
  facts.tasks.count = columns.number<std::uint32_t>();
  facts.tasks.first = columns.number<std::int64_t>();
  facts.tasks.step = columns.number<std::int64_t>();
  facts.tasks.max_parallel = columns.number<std::uint32_t>();
  read_request(columns, facts);
  facts.priority = columns.number<std::int32_t>();
  facts.time_limit = Duration(columns.number<std::int64_t>());
  facts.retry.max = columns.number<std::uint32_t>();
  facts.retry.backoff = Duration(columns.number<std::int64_t>());
  columns.optional_blob(decode_dependencies, facts.after);
  return columns.good();
}

bool read_job(const Query& query, StoredJob& job) {
  constexpr int kNameColumn = 25;
  job.name.assign(query.bytes_at(kNameColumn));
  job.command.assign(query.bytes_at(kNameColumn + 1));
  return read_job_facts(query, job.row, job.facts);
}

bool read_task(const Query& query, int column, TaskRow& row) {
  ColumnReader columns(query, column);
  row.task.index = columns.number<std::uint32_t>();
  row.state = columns.choice(TaskState::kSkipped);
  columns.blob(decode_task, row);
  return columns.good();
}

std::string job_words(JobId job) {
  return "job " + std::to_string(job.value);
}

Result<StoredJob> find_job(Connection& connection, JobId job) {
  Query query = connection.query("SELECT " TUTTI_JOB_COLUMNS " FROM jobs WHERE id = ?");
  query.integer(static_cast<std::int64_t>(job.value));
  const auto row = query.next();
  if (!row) return row.error();
  if (!*row) return not_found("there is no " + job_words(job));
  StoredJob stored;
  if (!read_job(query, stored)) return connection.corrupt("row of " + job_words(job));
  return stored;
}

Result<JobSpec> find_spec(Connection& connection, JobId job) {
  auto stored = find_job(connection, job);
  if (!stored) return stored.error();
  Query query = connection.query(
      "SELECT specs.body, environments.body FROM specs JOIN environments "
      "ON environments.id = specs.environment WHERE specs.job = ?");
  query.integer(static_cast<std::int64_t>(job.value));
  const auto row = query.next();
  if (!row) return row.error();

  JobFacts& facts = stored->facts;
  JobSpec spec;
  if (!*row || !decode_spec(query.bytes_at(0), spec) || !decode_texts(query.bytes_at(1), spec.env))
    return connection.corrupt("spec of " + job_words(job));
  spec.name = std::move(stored->name);
  spec.user = std::move(facts.user);
  spec.project = std::move(facts.project);
  spec.kind = std::move(facts.kind);
  spec.tasks = facts.tasks;
  spec.request = std::move(facts.request);
  spec.node_limits = std::move(facts.node_limits);
  spec.model = std::move(facts.model);
  spec.priority = facts.priority;
  spec.time_limit = facts.time_limit;
  spec.retry = facts.retry;
  spec.after = std::move(facts.after);
  return spec;
}

Result<std::vector<TaskRow>> find_tasks(Connection& connection, JobId job) {
  Query query = connection.query("SELECT idx, state, body FROM tasks WHERE job = ? ORDER BY idx");
  query.integer(static_cast<std::int64_t>(job.value));
  std::vector<TaskRow> rows;
  for (;;) {
    const auto row = query.next();
    if (!row) return row.error();
    if (!*row) return rows;
    TaskRow& task = rows.emplace_back();
    task.task.job = job;
    if (!read_task(query, 0, task)) return connection.corrupt("a task of " + job_words(job));
  }
}

}  // namespace tutti
