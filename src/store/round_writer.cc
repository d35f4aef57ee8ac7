#include "store/round_writer.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "store/event_codec.h"
#include "store/job_rows.h"
#include "store/line_chunks.h"
#include "store/pruned_rows.h"
#include "store/record_codec.h"

namespace tutti {
namespace {

std::int64_t stored(JobId job) {
  return static_cast<std::int64_t>(job.value);
}
std::int64_t stored(TaskState state) {
  return static_cast<std::int64_t>(state);
}

// Numbers of forgotten leases are set aside in steps, so that meta is rarely written.
constexpr std::uint64_t kNumbersSetAside = 64;
constexpr std::int64_t kLeaseBit = 4;  // of jobs.limits

// Binds what update and insert have in common.
void bind_changing(Query& query, const JobRow& row, const std::string& counts) {
  query.integer(stored(row.state)).integer(stored(row.rest)).blob(counts);
  query.integer(row.submitted_at.value).integer(row.started_at.value);
  query.integer(row.finished_at.value).integer(row.exit_status);
}

void bind_facts(Query& query, const JobSpec& spec) {
  const TaskSet& tasks = spec.tasks;
  query.text(spec.name).text(spec.user).text(spec.project).text(spec.kind);
  query.integer(static_cast<std::int64_t>(tasks.shape)).integer(tasks.count);
  query.integer(tasks.first).integer(tasks.step).integer(tasks.max_parallel);
  query.integer(spec.request.cpus.value).integer(spec.request.memory.value);
  query.integer((spec.request.limit_cpus ? 1 : 0) | (spec.request.limit_memory ? 2 : 0) |
                (spec.lease ? kLeaseBit : 0));
  query.integer(spec.priority).integer(spec.time_limit.value);
  query.integer(spec.retry.max).integer(spec.retry.backoff.value);
}

bool has_rare_facts(const JobSpec& spec) {
  return spec.request.devices != DeviceRequest() || !spec.request.labels.empty() ||
         spec.request.ports > 0 || !spec.node_limits.empty() || !spec.gang.workers.empty() ||
         !spec.request.configurations.empty() || spec.model != ModelRun();
}

// For a job whose submitter gave no row.
JobRow fresh_row(JobId id, const JobSpec& spec, const Round& round) {
  JobRow row;
  row.id = id;
  row.counts[TaskState::kQueued] = spec.tasks.count;
  for (const Event& event : round.events) {
    const auto* submitted = std::get_if<JobSubmitted>(&event.body);
    if (submitted != nullptr && submitted->facts.id == id) row.submitted_at = event.at;
  }
  return row;
}

TaskState state_after(const Outcome& outcome) {
  if (outcome.succeeded()) return TaskState::kSucceeded;
  return outcome.ending == Ending::kCancelled ? TaskState::kCancelled : TaskState::kFailed;
}

}  // namespace

Result<Tally> read_tally(Connection& connection) {
  Tally tally;
  Query query = connection.query("SELECT key, value FROM meta");
  for (;;) {
    const auto row = query.next();
    if (!row) return row.error();
    if (!*row) return tally;
    if (query.bytes_at(0) == "job_counts" && !decode_counts(query.bytes_at(1), tally.jobs))
      return connection.corrupt("job_counts in meta");
    if (query.bytes_at(0) == "next_lane")
      tally.next_lane = static_cast<std::uint64_t>(query.integer_at(1));
    if (query.bytes_at(0) == "next_job")
      tally.next_job = static_cast<std::uint64_t>(query.integer_at(1));
  }
}

Result<void> RoundWriter::commit(const Round& round) {
  next_ = tally_;
  auto written = write(round);
  ended_.clear();
  ended_filled_ = false;
  forgotten_.clear();
  if (written) {
    tally_ = next_;
  } else {
    // It may have been inserted by the transaction that is undone now.
    environment_.clear();
    environment_id_ = 0;
  }
  return written;
}

Result<void> RoundWriter::wait_for_disk(bool lasting) {
  if (lasting == synced_) return {};
  // Outside of a transaction only. Without it SQLite still writes in order, so that a killed
  // daemon loses nothing; a power cut may lose the end of the journal.
  const char* const mode = lasting ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL";
  if (auto set = connection_.execute(mode); !set) return set;
  synced_ = lasting;
  return {};
}

Result<void> RoundWriter::write(const Round& round) {
  if (auto set = wait_for_disk(round.lasting); !set) return set;
  Transaction transaction(connection_);
  if (auto begun = transaction.begin_write(); !begun) return begun;
  if (auto done = write_events(round.events); !done) return done;
  if (auto done = write_submitted(round); !done) return done;
  if (auto done = write_jobs(round); !done) return done;
  if (auto done = write_tasks(round); !done) return done;
  if (auto done = write_profiles(round); !done) return done;
  if (auto done = write_usage(round); !done) return done;
  if (auto done = write_tally(); !done) return done;
  return transaction.commit();
}

Result<void> RoundWriter::write_events(const std::vector<Event>& events) {
  Query insert = connection_.query("INSERT INTO journal(at, kind, body) VALUES(?, ?, ?)");
  for (const Event& event : events) {
    const EncodedEvent encoded = encode(event, buffer_);
    insert.integer(encoded.at).integer(encoded.kind).blob(encoded.body);
    if (auto inserted = insert.run(); !inserted) return inserted;
    if (auto done = write_node(event.body); !done) return done;
    if (auto done = write_speeds(event.body); !done) return done;
    if (const auto* placed = std::get_if<AttemptPlaced>(&event.body))
      next_.next_lane = std::max(next_.next_lane, placed->lane.value + 1);
  }
  return {};
}

Result<void> RoundWriter::write_node(const EventBody& body) {
  if (const auto* changed = std::get_if<NodeChanged>(&body)) {
    Query upsert = connection_.query(
        "INSERT OR REPLACE INTO nodes(id, state, reason, body) VALUES(?, ?, ?, ?)");
    encode_node(changed->node, second_buffer_);
    upsert.integer(changed->node.id.value).integer(static_cast<int>(changed->node.state));
    return upsert.text(changed->node.state_reason).blob(second_buffer_).run();
  }
  if (const auto* changed = std::get_if<NodeStateChanged>(&body)) {
    Query update = connection_.query("UPDATE nodes SET state = ?, reason = ? WHERE id = ?");
    update.integer(static_cast<int>(changed->state)).text(changed->reason);
    return update.integer(changed->node.value).run();
  }
  return {};
}

Result<void> RoundWriter::write_speeds(const EventBody& body) {
  const auto* changed = std::get_if<SpeedsChanged>(&body);
  if (changed == nullptr) return {};
  Query upsert = connection_.query(
      "INSERT OR REPLACE INTO speeds(model, parameters, batch, type, nodes, per_node, stages, "
      "seconds) VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  Query forget = connection_.query(
      "DELETE FROM speeds WHERE model = ? AND parameters = ? AND batch = ? AND type = ? AND "
      "nodes = ? AND per_node = ? AND stages = ?");
  for (const auto& [cell, speed] : changed->changes) {
    Query& query = speed ? upsert : forget;
    query.text(cell.run.name).integer(static_cast<std::int64_t>(cell.run.parameters));
    query.integer(static_cast<std::int64_t>(cell.run.batch)).text(cell.shape.type);
    query.integer(cell.shape.nodes).integer(cell.shape.per_node).integer(cell.stages);
    if (speed) query.real(speed->seconds);
    if (auto done = query.run(); !done) return done;
  }
  return {};
}

Result<void> RoundWriter::write_submitted(const Round& round) {
  if (round.submitted.empty()) return {};
  std::unordered_map<JobId, const JobRow*> rows;
  rows.reserve(round.jobs.size());
  for (const JobRow& row : round.jobs) rows[row.id] = &row;
  for (const auto& [id, spec] : round.submitted) {
    const auto given = rows.find(id);
    auto inserted =
        insert_job(given != rows.end() ? *given->second : fresh_row(id, *spec, round), *spec);
    if (!inserted) return inserted;
    if (auto done = insert_spec(id, *spec); !done) return done;
    if (auto done = write_lines(connection_, id, spec->lines); !done) return done;
  }
  return {};
}

Result<void> RoundWriter::insert_job(const JobRow& row, const JobSpec& spec) {
  Query insert = connection_.query(
      "INSERT INTO jobs(id, state, rest, counts, submitted_at, started_at, finished_at, "
      "exit_status, name, user, project, kind, shape, task_count, first_label, label_step, "
      "max_parallel, cpus, memory, limits, priority, time_limit, retries, backoff, command, "
      "rare_request, waits_for) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, ?, ?, ?, ?, ?, ?)");
  std::string counts;
  encode_counts(row.counts, counts);
  insert.integer(stored(row.id));
  bind_changing(insert, row, counts);
  bind_facts(insert, spec);
  const std::string command = display_text(spec);
  insert.text(command);
  if (has_rare_facts(spec)) {
    encode_rare_facts(facts_of(row.id, spec), buffer_);
    insert.blob(buffer_);
  } else {
    insert.null();
  }
  if (!spec.after.empty()) {
    encode_dependencies(spec.after, second_buffer_);
    insert.blob(second_buffer_);
  } else {
    insert.null();
  }
  ++next_.jobs[row.state];
  return insert.run();
}

Result<void> RoundWriter::insert_spec(JobId job, const JobSpec& spec) {
  const auto environment = environment_id(spec.env);
  if (!environment) return environment.error();
  Query insert = connection_.query("INSERT INTO specs(job, body, environment) VALUES(?, ?, ?)");
  encode_spec(spec, buffer_);
  return insert.integer(stored(job)).blob(buffer_).integer(*environment).run();
}

Result<std::int64_t> RoundWriter::environment_id(const std::vector<std::string>& environment) {
  if (environment_id_ != 0 && environment == environment_) return environment_id_;
  encode_texts(environment, buffer_);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(buffer_.data()), buffer_.size(), digest.data());
  const std::string_view key(reinterpret_cast<const char*>(digest.data()), digest.size());

  Query find = connection_.query("SELECT id FROM environments WHERE digest = ?");
  const auto found = find.blob(key).next();
  if (!found) return found.error();
  if (*found) {
    environment_id_ = find.integer_at(0);
  } else {
    Query insert = connection_.query("INSERT INTO environments(digest, body) VALUES(?, ?)");
    if (auto inserted = insert.blob(key).blob(buffer_).run(); !inserted) return inserted.error();
    environment_id_ = connection_.last_row();
  }
  environment_ = environment;
  return environment_id_;
}

Result<void> RoundWriter::write_jobs(const Round& round) {
  Query find = connection_.query("SELECT state, limits FROM jobs WHERE id = ?");
  Query update = connection_.query(
      "UPDATE jobs SET state = ?, rest = ?, counts = ?, submitted_at = ?, started_at = ?, "
      "finished_at = ?, exit_status = ? WHERE id = ?");
  // What was just inserted with its row needs no update.
  std::unordered_set<JobId> inserted;
  for (const auto& [id, spec] : round.submitted) inserted.insert(id);

  for (const JobRow& row : round.jobs) {
    if (inserted.contains(row.id)) continue;
    const auto found = find.integer(stored(row.id)).next();
    if (!found) return found.error();
    if (!*found)
      return Error{ErrorCode::kInternal,
                   "round changes " + job_words(row.id) + ", never submitted"};
    const std::int64_t before = find.integer_at(0);
    const bool lease = (find.integer_at(1) & kLeaseBit) != 0;
    find.reset();
    if (before < 0 || before > stored(TaskState::kSkipped))
      return connection_.corrupt("row of " + job_words(row.id));
    --next_.jobs[static_cast<TaskState>(before)];
    if (lease && row.state == TaskState::kSucceeded) {
      if (auto forgot = forget(row.id); !forgot) return forgot;
      continue;
    }
    ++next_.jobs[row.state];
    encode_counts(row.counts, buffer_);
    bind_changing(update, row, buffer_);
    if (auto updated = update.integer(stored(row.id)).run(); !updated) return updated;
  }
  return {};
}

Result<void> RoundWriter::forget(JobId lease) {
  for (const char* const sql :
       {"DELETE FROM jobs WHERE id = ?", "DELETE FROM specs WHERE job = ?",
        "DELETE FROM tasks WHERE job = ?", "DELETE FROM earlier_attempts WHERE job = ?"}) {
    if (auto done = connection_.query(sql).integer(stored(lease)).run(); !done) return done;
  }
  forgotten_.insert(lease);
  if (lease.value >= next_.next_job) next_.next_job = lease.value + kNumbersSetAside;
  return {};
}

Result<bool> RoundWriter::prune(const PruneStep& step) {
  next_ = tally_;
  auto more = write_prune(step);
  if (more) tally_ = next_;
  // It may be one of those that went.
  environment_.clear();
  environment_id_ = 0;
  return more;
}

Result<bool> RoundWriter::write_prune(const PruneStep& step) {
  if (auto set = wait_for_disk(true); !set) return set.error();
  Transaction transaction(connection_);
  if (auto begun = transaction.begin_write(); !begun) return begun.error();
  RowBudget budget;
  bool more = false;
  for (const JobId job : step.jobs) {
    const auto gone = forget_finished(job, step.before);
    if (!gone) return gone.error();
    if (!*gone) continue;
    const auto left = delete_rows_of(connection_, job, budget);
    if (!left) return left.error();
    more = more || *left;
  }
  if (auto done = forget_environments(step); !done) return done.error();
  if (auto done = write_tally(); !done) return done.error();
  if (auto done = transaction.commit(); !done) return done.error();
  return more;
}

Result<bool> RoundWriter::forget_finished(JobId job, TimePoint before) {
  Query find = connection_.query("SELECT state, finished_at FROM jobs WHERE id = ?");
  const auto found = find.integer(stored(job)).next();
  if (!found) return found.error();
  if (!*found) return true;  // but some of its rows may be there
  const std::int64_t state = find.integer_at(0);
  if (state > stored(TaskState::kSkipped)) return connection_.corrupt("row of " + job_words(job));
  if (state < stored(TaskState::kSucceeded) || TimePoint(find.integer_at(1)) > before) return false;
  find.reset();
  --next_.jobs[static_cast<TaskState>(state)];
  next_.next_job = std::max(next_.next_job, job.value + 1);
  auto done = connection_.query("DELETE FROM jobs WHERE id = ?").integer(stored(job)).run();
  if (!done) return done.error();
  return true;
}

Result<void> RoundWriter::forget_environments(const PruneStep& step) {
  if (step.environments.empty()) return {};
  std::unordered_set<std::int64_t> used;
  Query newer = connection_.query("SELECT environment FROM specs WHERE job > ?");
  newer.integer(stored(step.newest));
  for (;;) {
    const auto row = newer.next();
    if (!row) return row.error();
    if (!*row) break;
    used.insert(newer.integer_at(0));
  }
  Query forget = connection_.query("DELETE FROM environments WHERE id = ?");
  for (const std::int64_t id : step.environments) {
    if (used.contains(id)) continue;
    if (auto done = forget.integer(id).run(); !done) return done;
  }
  return {};
}

Result<void> RoundWriter::write_tasks(const Round& round) {
  Query upsert = connection_.query(
      "INSERT INTO tasks(job, idx, state, body) VALUES(?, ?, ?, ?) "
      "ON CONFLICT DO UPDATE SET state = excluded.state, body = excluded.body");
  for (const TaskRow& row : round.tasks) {
    if (forgotten_.contains(row.task.job)) continue;
    if (row.attempts > 1)
      if (auto kept = keep_earlier_attempts(row, round); !kept) return kept;
    next_.next_lane = std::max(next_.next_lane, row.lane.value + 1);
    encode_task(row, buffer_);
    upsert.integer(stored(row.task.job)).integer(row.task.index).integer(stored(row.state));
    if (auto done = upsert.blob(buffer_).run(); !done) return done;
  }
  return {};
}

Result<void> RoundWriter::keep_earlier_attempts(const TaskRow& newer, const Round& round) {
  Query find = connection_.query("SELECT idx, state, body FROM tasks WHERE job = ? AND idx = ?");
  const auto found = find.integer(stored(newer.task.job)).integer(newer.task.index).next();
  if (!found) return found.error();
  TaskRow older;
  older.task = newer.task;
  if (*found && !read_task(find, 0, older))
    return connection_.corrupt("a task of " + job_words(newer.task.job));
  find.reset();

  // A round may end one attempt and place the next: then the end is known from its event only.
  for (std::uint32_t number = std::max(older.attempts, 1u); number < newer.attempts; ++number) {
    TaskRow row;
    row.task = newer.task;
    if (number == older.attempts) row = older;
    row.attempts = number;
    if (const AttemptEnded* ended = ended_in(round, {newer.task, number})) {
      row.started_at = ended->started_at;
      row.ended_at = ended->ended_at;
      row.outcome = ended->outcome;
    }
    if (!row.ended_at || row.outcome.ending == Ending::kRecalled) continue;
    row.state = state_after(row.outcome);
    if (auto inserted = insert_earlier(row); !inserted) return inserted;
  }
  return {};
}

Result<void> RoundWriter::insert_earlier(const TaskRow& row) {
  Query insert = connection_.query(
      "INSERT OR IGNORE INTO earlier_attempts(job, idx, number, state, body) "
      "VALUES(?, ?, ?, ?, ?)");
  encode_task(row, buffer_);
  insert.integer(stored(row.task.job)).integer(row.task.index).integer(row.attempts);
  return insert.integer(stored(row.state)).blob(buffer_).run();
}

const AttemptEnded* RoundWriter::ended_in(const Round& round, AttemptId attempt) {
  if (!ended_filled_) {
    ended_filled_ = true;
    for (const Event& event : round.events)
      if (const auto* ended = std::get_if<AttemptEnded>(&event.body))
        ended_[ended->attempt.task].push_back(ended);
  }
  const auto of_task = ended_.find(attempt.task);
  if (of_task == ended_.end()) return nullptr;
  for (const AttemptEnded* ended : of_task->second)
    if (ended->attempt.number == attempt.number) return ended;
  return nullptr;
}

Result<void> RoundWriter::write_profiles(const Round& round) {
  Query upsert = connection_.query("INSERT OR REPLACE INTO profiles(kind, body) VALUES(?, ?)");
  Query forget = connection_.query("DELETE FROM profiles WHERE kind = ?");
  for (const auto& [kind, profile] : round.profiles) {
    if (!profile) {
      if (auto done = forget.text(kind).run(); !done) return done;
      continue;
    }
    encode_profile(*profile, buffer_);
    if (auto done = upsert.text(kind).blob(buffer_).run(); !done) return done;
  }
  return {};
}

Result<void> RoundWriter::write_usage(const Round& round) {
  Query upsert = connection_.query(
      "INSERT OR REPLACE INTO usage(project, user, cpu_seconds, as_of) VALUES(?, ?, ?, ?)");
  for (const UsageRecord& record : round.usage) {
    upsert.text(record.account.project).text(record.account.user);
    upsert.real(record.cpu_seconds).integer(record.as_of.value);
    if (auto done = upsert.run(); !done) return done;
  }
  return {};
}

Result<void> RoundWriter::write_tally() {
  Query upsert = connection_.query("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)");
  if (next_.jobs != tally_.jobs) {
    encode_counts(next_.jobs, buffer_);
    if (auto done = upsert.text("job_counts").blob(buffer_).run(); !done) return done;
  }
  if (next_.next_lane != tally_.next_lane) {
    upsert.text("next_lane").integer(static_cast<std::int64_t>(next_.next_lane));
    if (auto done = upsert.run(); !done) return done;
  }
  if (next_.next_job != tally_.next_job) {
    upsert.text("next_job").integer(static_cast<std::int64_t>(next_.next_job));
    if (auto done = upsert.run(); !done) return done;
  }
  return {};
}

}  // namespace tutti
