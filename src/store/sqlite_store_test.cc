#include "store/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <set>

#include "store/random_records.h"
#include "store/schema.h"
#include "store/sqlite_history.h"
#include "store/sqlite_prune_source.h"

namespace tutti {
namespace {

bool always() {
  return true;
}

class SqliteStoreTest : public testing::Test {
 protected:
  void SetUp() override { reopen(); }

  void reopen() {
    store_.reset();
    auto opened = SqliteStore::open(path());
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  std::string path() const { return folder_.file("tutti.db"); }

  void commit(const Round& round) {
    const auto done = store_->commit(round);
    ASSERT_TRUE(done) << done.error().message;
  }
  Recovered recovered() {
    auto read = store_->recover();
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : Recovered();
  }
  // A job of `count` tasks in one round.
  JobRow submit(std::uint64_t id, std::uint32_t count = 1, bool lease = false) {
    JobSpec spec;
    spec.tasks.count = count;
    spec.lease = lease;
    JobRow row;
    row.id = JobId(id);
    row.counts[TaskState::kQueued] = count;
    Round round;
    round.submitted = {{row.id, &spec}};
    round.jobs = {row};
    commit(round);
    return row;
  }

  JobRow submit_lease(std::uint64_t id) { return submit(id, 1, true); }
  // Ends a job of one task.
  void end(JobRow& row, TaskState state) {
    row.state = state;
    row.counts = {};
    row.counts[state] = 1;
    row.finished_at = TimePoint(1);
    TaskRow task;
    task.task = {row.id, 0};
    task.state = state;
    task.attempts = 1;
    Round round;
    round.jobs = {row};
    round.tasks = {task};
    commit(round);
  }

  TemporaryFolder folder_;
  std::unique_ptr<SqliteStore> store_;
};

TEST_F(SqliteStoreTest, a_new_database_is_empty_and_private) {
  const Recovered fresh = recovered();
  EXPECT_EQ(fresh.next_job, 1u);
  EXPECT_EQ(fresh.next_lane, 1u);
  EXPECT_TRUE(fresh.jobs.empty());
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat status;
    ASSERT_EQ(::stat((path() + suffix).c_str(), &status), 0) << suffix;
    EXPECT_EQ(status.st_mode & 0777u, 0600u) << suffix;
  }
}

TEST_F(SqliteStoreTest, an_empty_round_is_no_error) {
  commit({});
}

TEST_F(SqliteStoreTest, specs_come_back_without_their_lines) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRecords random(seed);
    JobSpec spec = random.spec();
    Round round;
    round.submitted = {{JobId(seed), &spec}};
    commit(round);
    if (seed % 7 == 0) reopen();

    const auto lines =
        store_->load_lines(JobId(seed), 0, static_cast<std::uint32_t>(spec.lines.size()));
    ASSERT_TRUE(lines) << lines.error().message;
    ASSERT_EQ(*lines, spec.lines);
    spec.lines.clear();
    const auto loaded = store_->load_spec(JobId(seed));
    ASSERT_TRUE(loaded) << loaded.error().message;
    ASSERT_EQ(*loaded, spec);
  }
}

TEST_F(SqliteStoreTest, a_submission_without_a_row_is_queued_since_its_event) {
  JobSpec spec;
  spec.tasks.count = 5;
  Round round;
  round.events = {{TimePoint(77), JobSubmitted{facts_of(JobId(1), spec)}}};
  round.submitted = {{JobId(1), &spec}};
  commit(round);
  const auto row = store_->load_job(JobId(1));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->submitted_at, TimePoint(77));
  EXPECT_EQ(row->counts[TaskState::kQueued], 5u);
}

TEST_F(SqliteStoreTest, any_range_of_lines_can_be_loaded) {
  RandomRecords random(3);
  JobSpec spec;
  for (int i = 0; i < 3000; ++i) spec.lines.push_back("line " + std::to_string(i) + random.bytes());
  spec.lines[1000] = std::string(300000, 'x');
  JobSpec other;
  other.lines = {"only"};
  Round round;
  round.submitted = {{JobId(1), &spec}, {JobId(2), &other}};
  commit(round);
  for (int i = 0; i < 300; ++i) {
    const auto first = static_cast<std::uint32_t>(random.below(3000));
    const auto count = static_cast<std::uint32_t>(random.below(3000 - first));
    const auto lines = store_->load_lines(JobId(1), first, count);
    ASSERT_TRUE(lines);
    const auto begin = spec.lines.begin() + first;
    ASSERT_EQ(*lines, std::vector<std::string>(begin, begin + count)) << first << " " << count;
    ASSERT_EQ(store_->load_lines(JobId(2), 0, 1)->front(), "only");
  }
  EXPECT_EQ(store_->load_lines(JobId(1), 2999, 2).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_->load_lines(JobId(3), 0, 1).error().code, ErrorCode::kNotFound);
}

TEST_F(SqliteStoreTest, unknown_jobs_are_not_found) {
  EXPECT_EQ(store_->load_job(JobId(9)).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_->load_spec(JobId(9)).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(store_->load_tasks(JobId(9))->empty());
}

TEST_F(SqliteStoreTest, a_change_of_a_job_never_submitted_is_refused_and_nothing_is_written) {
  Round round;
  round.events = {{TimePoint(1), StopOrdered{}}};
  round.jobs = {JobRow{.id = JobId(5)}};
  const auto done = store_->commit(round);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kInternal);
  EXPECT_TRUE(store_->read_journal(1, 10)->empty());
}

TEST_F(SqliteStoreTest, a_finished_job_that_is_retried_is_recovered_again) {
  JobRow row = submit(1);
  row.state = TaskState::kFailed;
  TaskRow task;
  task.task = {JobId(1), 0};
  task.state = TaskState::kFailed;
  commit({.jobs = {row}, .tasks = {task}});
  EXPECT_TRUE(recovered().jobs.empty());
  EXPECT_EQ(*store_->load_job(JobId(1)), row);
  EXPECT_EQ(*store_->load_tasks(JobId(1)), std::vector{task});

  row.state = task.state = TaskState::kQueued;
  commit({.jobs = {row}, .tasks = {task}});
  const Recovered after = recovered();
  ASSERT_EQ(after.jobs.size(), 1u);
  EXPECT_EQ(after.jobs[0].row, row);
  EXPECT_EQ(after.jobs[0].tasks, std::vector{task});
}

TEST_F(SqliteStoreTest, lanes_are_never_numbered_twice) {
  submit(1, 2);
  TaskRow task;
  task.task = {JobId(1), 0};
  task.lane = LaneId(41);
  commit({.tasks = {task}});
  EXPECT_EQ(recovered().next_lane, 42u);
  task.lane = LaneId(3);
  commit({.events = {{TimePoint(1), AttemptPlaced{{task.task, 1}, LaneId(50), false, {}}}},
          .tasks = {task}});
  reopen();
  EXPECT_EQ(recovered().next_lane, 51u);
}

TEST_F(SqliteStoreTest, a_lease_that_succeeded_is_forgotten_and_its_number_not_used_again) {
  JobRow row = submit_lease(7);
  end(row, TaskState::kSucceeded);
  EXPECT_FALSE(store_->load_job(JobId(7)));
  EXPECT_FALSE(store_->load_spec(JobId(7)));
  EXPECT_TRUE(store_->load_tasks(JobId(7))->empty());
  reopen();
  EXPECT_GT(recovered().next_job, 7u);
  EXPECT_TRUE(recovered().jobs.empty());
}

TEST_F(SqliteStoreTest, a_lease_that_failed_and_a_job_that_succeeded_stay) {
  JobRow lease = submit_lease(7);
  end(lease, TaskState::kFailed);
  JobRow job = submit(8);
  end(job, TaskState::kSucceeded);
  EXPECT_TRUE(store_->load_job(JobId(7)));
  EXPECT_TRUE(store_->load_job(JobId(8)));
  EXPECT_EQ(recovered().next_job, 9u);
}

TEST_F(SqliteStoreTest, tasks_are_found_between_those_of_many_finished_jobs) {
  for (std::uint64_t id = 1; id <= 120; ++id) {
    JobRow row = submit(id, 3);
    if (id % 40 != 0) row.state = TaskState::kSucceeded;
    std::vector<TaskRow> tasks(id % 80 == 0 ? 0 : 3);
    for (std::uint32_t i = 0; i < tasks.size(); ++i) tasks[i].task = {row.id, i};
    commit({.jobs = {row}, .tasks = tasks});
  }
  const Recovered all = recovered();
  ASSERT_EQ(all.jobs.size(), 3u);
  EXPECT_EQ(all.jobs[0].row.id, JobId(40));
  EXPECT_EQ(all.jobs[0].tasks.size(), 3u);
  EXPECT_EQ(all.jobs[1].tasks.size(), 0u);
  EXPECT_EQ(all.jobs[2].tasks.size(), 3u);
  EXPECT_EQ(all.jobs[2].tasks[2].task, (TaskId{JobId(120), 2}));
}

TEST_F(SqliteStoreTest, a_node_changes_with_its_events) {
  Node node;
  node.id = NodeId(1);
  node.name = "box\xff";
  node.cpus = node.free_cpus = MilliCpu(2000);
  commit({.events = {{TimePoint(1), NodeChanged{node}}}});
  commit(
      {.events = {{TimePoint(2), NodeStateChanged{NodeId(1), Node::State::kDraining, "update"}}}});
  reopen();
  node.state = Node::State::kDraining;
  node.state_reason = "update";
  EXPECT_EQ(recovered().nodes, std::vector{node});
}

TEST_F(SqliteStoreTest, the_journal_can_be_read_in_pieces) {
  RandomRecords random(11);
  std::vector<Event> events;
  for (int i = 0; i < 25; ++i) events.push_back(random.event());
  commit({.events = events});
  std::vector<Event> read;
  for (;;) {
    const auto piece = store_->read_journal(read.size() + 1, 7);
    ASSERT_TRUE(piece) << piece.error().message;
    if (piece->empty()) break;
    read.insert(read.end(), piece->begin(), piece->end());
  }
  EXPECT_EQ(read, events);
}

TEST_F(SqliteStoreTest, speeds_come_back_to_the_last_bit_and_forgotten_ones_do_not) {
  const SpeedCell kept{{"bert", 1'300'000'000, 128}, {"a100", 1, 4}};
  const SpeedCell gone{{"bert", 1'300'000'000, 128}, {"a100", 1, 4}, 2};
  const double seconds = 2.9559504985809326;
  Round round;
  round.events = {{TimePoint(1), SpeedsChanged{{{kept, Speed{1}}, {gone, Speed{0}}}}},
                  {TimePoint(2), SpeedsChanged{{{kept, Speed{seconds}}, {gone, std::nullopt}}}}};
  commit(round);
  reopen();
  SpeedTable expected;
  expected.set(kept, {seconds});
  EXPECT_EQ(recovered().speeds, expected);
}

// What the store should hold, kept beside it.
struct Expected {
  std::vector<Event> journal;
  std::map<JobId, Recovered::UnfinishedJob> jobs;
  std::map<TaskId, TaskRow> tasks;
  std::map<NodeId, Node> nodes;
  std::map<std::string, Profile> profiles;
  SpeedTable speeds;
  std::map<Account, UsageRecord> usage;
  std::uint64_t next_lane = 1;

  void see(const Event& event) {
    journal.push_back(event);
    if (const auto* changed = std::get_if<NodeChanged>(&event.body))
      nodes[changed->node.id] = changed->node;
    if (const auto* placed = std::get_if<AttemptPlaced>(&event.body))
      next_lane = std::max(next_lane, placed->lane.value + 1);
    if (const auto* changed = std::get_if<SpeedsChanged>(&event.body)) {
      for (const SpeedChange& change : changed->changes) {
        if (change.speed)
          speeds.set(change.cell, *change.speed);
        else
          speeds.erase(change.cell);
      }
    }
    const auto* state = std::get_if<NodeStateChanged>(&event.body);
    if (state == nullptr || !nodes.contains(state->node)) return;
    nodes[state->node].state = state->state;
    nodes[state->node].state_reason = state->reason;
  }
};

// A random round, which also becomes part of what is expected.
Round random_round(RandomRecords& random, Expected& expected, std::vector<JobSpec>& specs) {
  Round round;
  for (auto n = random.below(4); n > 0; --n) round.events.push_back(random.event());
  for (const Event& event : round.events) expected.see(event);
  specs.resize(random.below(3));
  for (JobSpec& spec : specs) {
    const JobId id(expected.jobs.size() + 1);
    spec = random.spec(id.value);
    spec.lease = false;  // these may be forgotten
    spec.lines.clear();
    round.submitted.emplace_back(id, &spec);
    round.jobs.push_back(random.job_row(id));
    expected.jobs[id] = {round.jobs.back(), facts_of(id, spec), {}};
  }
  if (expected.jobs.empty()) return round;
  std::map<TaskId, TaskRow> tasks;
  for (auto n = random.below(6); n > 0; --n) {
    const TaskId task{JobId(1 + random.below(expected.jobs.size())),
                      static_cast<std::uint32_t>(random.below(5))};
    tasks[task] = random.task_row(task);
    tasks[task].attempts %= 4;
  }
  for (const auto& [task, row] : tasks) {
    round.tasks.push_back(row);
    expected.tasks[task] = row;
    expected.next_lane = std::max(expected.next_lane, row.lane.value + 1);
  }
  const JobId changed(1 + random.below(expected.jobs.size()));
  const bool fresh = !specs.empty() && changed >= round.submitted.front().first;
  if (!fresh) round.jobs.push_back(expected.jobs[changed].row = random.job_row(changed));
  const std::string kind = random.bytes(2);
  round.profiles.emplace_back(kind, expected.profiles[kind] = random.profile());
  const Account account{random.bytes(1), random.bytes(1)};
  round.usage.push_back(
      expected.usage[account] = {account, static_cast<double>(random.wide()) / 7, random.time()});
  return round;
}

void expect_holds(const Recovered& held, const Expected& expected) {
  ASSERT_EQ(held.next_job, expected.jobs.size() + 1);
  ASSERT_EQ(held.next_lane, expected.next_lane);
  std::size_t next = 0;
  for (const auto& [id, job] : expected.jobs) {
    if (is_final(job.row.state)) continue;
    ASSERT_LT(next, held.jobs.size());
    const auto& read = held.jobs[next++];
    ASSERT_EQ(read.row, job.row);
    ASSERT_EQ(read.facts, job.facts);
    std::vector<TaskRow> tasks;
    for (const auto& [task, row] : expected.tasks)
      if (task.job == id) tasks.push_back(row);
    ASSERT_EQ(read.tasks, tasks);
  }
  ASSERT_EQ(next, held.jobs.size());
  ASSERT_EQ(held.profiles, (std::vector<std::pair<std::string, Profile>>(expected.profiles.begin(),
                                                                         expected.profiles.end())));
  ASSERT_EQ(held.speeds, expected.speeds);
  ASSERT_EQ(held.usage.size(), expected.usage.size());
  for (const UsageRecord& record : held.usage) ASSERT_EQ(record, expected.usage.at(record.account));
  ASSERT_EQ(held.nodes.size(), expected.nodes.size());
  for (const Node& node : held.nodes) ASSERT_EQ(node, expected.nodes.at(node.id));
}

// How many rows there are of a job in all tables but the journal.
std::int64_t rows_of(const std::string& path, std::uint64_t job) {
  const auto reader = open_reader(path);
  std::int64_t rows = 0;
  for (const char* sql :
       {"SELECT count(*) FROM jobs WHERE id = ?", "SELECT count(*) FROM specs WHERE job = ?",
        "SELECT count(*) FROM tasks WHERE job = ?", "SELECT count(*) FROM lines WHERE job = ?",
        "SELECT count(*) FROM earlier_attempts WHERE job = ?"}) {
    Query query = (*reader)->query(sql);
    EXPECT_TRUE(*query.integer(static_cast<std::int64_t>(job)).next());
    rows += query.integer_at(0);
  }
  return rows;
}

TEST_F(SqliteStoreTest, a_pruned_job_is_gone_and_its_number_is_not_used_again) {
  JobRow first = submit(1);
  JobRow second = submit(2);
  const JobRow waits = submit(3);
  end(first, TaskState::kSucceeded);
  end(second, TaskState::kFailed);
  const auto more = store_->prune({.jobs = {JobId(1), JobId(2), JobId(3)}, .before = TimePoint(1)});
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_FALSE(*more);
  EXPECT_EQ(store_->load_job(JobId(1)).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(rows_of(path(), 1) + rows_of(path(), 2), 0);
  EXPECT_EQ(store_->load_job(JobId(3))->state, TaskState::kQueued);
  TaskCounts left;
  left[TaskState::kQueued] = 1;
  EXPECT_EQ(*(*SqliteHistory::open(path()))->job_counts(), left);
  reopen();
  EXPECT_EQ(recovered().next_job, 4u);

  JobRow last = waits;
  end(last, TaskState::kCancelled);
  ASSERT_TRUE(store_->prune({.jobs = {JobId(3)}, .before = TimePoint(1)}));
  reopen();
  EXPECT_EQ(recovered().next_job, 4u);
  EXPECT_EQ(*(*SqliteHistory::open(path()))->job_counts(), TaskCounts());
}

TEST_F(SqliteStoreTest, a_job_that_ended_too_lately_stays_whole) {
  JobRow row = submit(1);
  end(row, TaskState::kSucceeded);
  const auto more = store_->prune({.jobs = {JobId(1)}, .before = TimePoint(0)});
  EXPECT_TRUE(more && !*more);
  EXPECT_TRUE(store_->load_spec(JobId(1)));
  EXPECT_EQ(rows_of(path(), 1), 3);
}

TEST_F(SqliteStoreTest, a_large_job_goes_in_steps_and_a_restart_between_them_goes_on) {
  constexpr std::uint32_t kTasks = 9000;
  JobSpec spec;
  spec.tasks.shape = TaskSet::Shape::kBatch;
  spec.tasks.count = kTasks;
  spec.lines.assign(kTasks, std::string(1000, 'x'));
  Round round;
  round.submitted = {{JobId(1), &spec}};
  JobRow row{.id = JobId(1), .state = TaskState::kSucceeded, .finished_at = TimePoint(1)};
  round.jobs = {row};
  for (std::uint32_t index = 0; index < kTasks; ++index)
    round.tasks.push_back({.task = {row.id, index}, .state = TaskState::kSucceeded, .attempts = 1});
  commit(round);

  const PruneStep step{.jobs = {row.id}, .before = TimePoint(1)};
  ASSERT_TRUE(*store_->prune(step));
  EXPECT_FALSE(store_->load_job(row.id));
  EXPECT_GT(rows_of(path(), 1), 1000);
  reopen();
  const auto source = SqlitePruneSource::open(folder_.path(), always);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->remaining({})->halves, std::vector<JobId>{row.id});
  EXPECT_FALSE((*source)->is_known(row.id));
  int steps = 1;
  while (*store_->prune({.jobs = {row.id}})) ++steps;
  EXPECT_GT(steps, 1);
  EXPECT_EQ(rows_of(path(), 1), 0);
  EXPECT_TRUE((*source)->remaining({})->halves.empty());
  EXPECT_EQ(recovered().next_job, 2u);
}

TEST_F(SqliteStoreTest, environments_go_when_no_job_has_them) {
  JobSpec spec;
  const auto submit_with = [&](std::uint64_t id, const std::string& variable) {
    spec.env = {variable};
    Round round;
    round.submitted = {{JobId(id), &spec}};
    commit(round);
  };
  submit_with(1, "A=1");
  submit_with(2, "B=2");
  JobRow row{.id = JobId(1)};
  end(row, TaskState::kSucceeded);
  row.id = JobId(2);
  end(row, TaskState::kSucceeded);
  ASSERT_TRUE(store_->prune({.jobs = {JobId(1), JobId(2)}, .before = TimePoint(1)}));
  const auto source = SqlitePruneSource::open(folder_.path(), always);
  const Remaining remaining = *(*source)->remaining({});
  ASSERT_EQ(remaining.environments.size(), 2u);
  EXPECT_EQ(remaining.newest, JobId(2));
  // One of them is wanted again before they go.
  submit_with(3, "A=1");
  ASSERT_TRUE(store_->prune({.environments = remaining.environments, .newest = remaining.newest}));
  EXPECT_EQ(store_->load_spec(JobId(3))->env, std::vector<std::string>{"A=1"});
  submit_with(4, "B=2");
  EXPECT_EQ(store_->load_spec(JobId(4))->env, std::vector<std::string>{"B=2"});
  EXPECT_TRUE((*source)->remaining({})->environments.empty());
}

TEST_F(SqliteStoreTest, what_unfinished_jobs_need_is_not_prunable) {
  for (const std::uint64_t id : {1u, 2u, 3u, 4u}) {
    JobRow row = submit(id);
    end(row, TaskState::kSucceeded);
  }
  JobSpec waits;
  waits.after = {{JobId(1), Dependency::When::kAny}};
  waits.workdir = folder_.path() + "/work/2/sub";
  waits.snapshot = std::string(64, 'a');
  Round round;
  round.submitted = {{JobId(5), &waits}};
  commit(round);

  const auto source = SqlitePruneSource::open(folder_.path(), always);
  const auto found = (*source)->prunable({.before = TimePoint(5)});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->needed, 2u);
  EXPECT_EQ(found->unfinished, 1u);
  EXPECT_THAT(found->jobs, testing::SizeIs(2));
  EXPECT_EQ((*source)->remaining({})->snapshots, std::set<std::string>{waits.snapshot});
  EXPECT_TRUE((*source)->remaining({JobId(5)})->snapshots.empty());
  EXPECT_EQ(
      (*source)->prunable({.jobs = {JobId(3), JobId(3)}, .before = TimePoint(1)})->jobs.size(), 1u);
  EXPECT_EQ((*source)->prunable({.jobs = {JobId(3)}, .before = TimePoint(0)})->recent, 1u);
  EXPECT_EQ((*source)->prunable({.jobs = {JobId(7)}}).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE((*source)->is_known(JobId(6)));
}

TEST_F(SqliteStoreTest, what_is_read_for_a_prune_is_left_off_in_the_middle) {
  for (const std::uint64_t id : {1u, 2u, 3u}) submit(id);
  int asked = 0;
  const auto source = SqlitePruneSource::open(folder_.path(), [&] { return ++asked % 3 != 0; });
  EXPECT_EQ((*source)->prunable({}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(asked, 3);
  EXPECT_EQ((*source)->remaining({}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(asked, 6);
}

TEST_F(SqliteStoreTest, random_rounds_are_all_there_after_a_restart) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    store_.reset();
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path() + suffix);
    reopen();
    RandomRecords random(seed);
    Expected expected;
    std::vector<JobSpec> specs;
    for (int i = 0; i < 40; ++i) {
      commit(random_round(random, expected, specs));
      if (random.below(8) == 0) reopen();
      if (random.below(4) != 0) continue;
      ASSERT_NO_FATAL_FAILURE(expect_holds(recovered(), expected));
    }
    ASSERT_NO_FATAL_FAILURE(expect_holds(recovered(), expected));
    const auto journal = store_->read_journal(1, 100000);
    ASSERT_TRUE(journal) << journal.error().message;
    ASSERT_EQ(*journal, expected.journal);
  }
}

// Nothing but the thread beside it writes to the file while the store is open.
TEST_F(SqliteStoreTest, a_long_log_is_copied_into_the_file_by_itself) {
  struct stat found {};
  const auto bytes = [&] { return stat(path().c_str(), &found) == 0 ? found.st_size : 0; };
  const auto before = bytes();
  JobSpec spec;
  spec.tasks.count = 50'000;
  for (int i = 0; i < 50'000; ++i) spec.lines.push_back(std::string(200, 'a') + std::to_string(i));
  Round round;
  round.submitted = {{JobId(1), &spec}};
  commit(round);
  for (int tries = 0; tries < 30'000 && bytes() < before + 8'000'000; ++tries) usleep(1000);
  EXPECT_GE(bytes(), before + 8'000'000);
  submit(2);
  reopen();
  EXPECT_EQ(store_->load_lines(JobId(1), 49'999, 1)->front(), std::string(200, 'a') + "49999");
}

TEST(Checkpointer, the_writer_copies_a_log_that_never_pauses) {
  TemporaryFolder folder;
  Checkpointer checkpointer(folder.file("tutti.db"));
  EXPECT_TRUE(checkpointer.grown(1));
  EXPECT_TRUE(checkpointer.grown(3'999));
  EXPECT_FALSE(checkpointer.grown(4'000));
  EXPECT_TRUE(checkpointer.grown(1));
}

}  // namespace
}  // namespace tutti
