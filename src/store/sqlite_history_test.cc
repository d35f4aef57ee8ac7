#include "store/sqlite_history.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "store/random_records.h"
#include "store/sqlite_store.h"

namespace tutti {
namespace {

class SqliteHistoryTest : public testing::Test {
 protected:
  void SetUp() override {
    auto store = SqliteStore::open(path());
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
    auto history = SqliteHistory::open(path());
    ASSERT_TRUE(history) << history.error().message;
    history_ = std::move(*history);
  }
  std::string path() const { return folder_.file("tutti.db"); }

  void commit(const Round& round) {
    const auto done = store_->commit(round);
    ASSERT_TRUE(done) << done.error().message;
  }
  void submit(std::uint64_t id, const JobSpec& spec, TaskState state = TaskState::kQueued) {
    JobRow row;
    row.id = JobId(id);
    row.state = state;
    row.counts[state] = spec.tasks.count;
    commit({.submitted = {{row.id, &spec}}, .jobs = {row}});
  }
  std::vector<std::uint64_t> listed(const JobFilter& filter) {
    const auto jobs = history_->list(filter);
    EXPECT_TRUE(jobs) << jobs.error().message;
    std::vector<std::uint64_t> ids;
    if (jobs)
      for (const JobSummary& job : *jobs) ids.push_back(job.row.id.value);
    return ids;
  }
  // Pairs of index and state.
  using Shown = std::vector<std::pair<std::uint32_t, TaskState>>;
  Shown tasks(const TaskFilter& filter) {
    const auto rows = history_->tasks(JobId(1), filter);
    EXPECT_TRUE(rows) << rows.error().message;
    Shown shown;
    if (rows)
      for (const TaskRow& row : *rows) shown.emplace_back(row.task.index, row.state);
    return shown;
  }

  TemporaryFolder folder_;
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<SqliteHistory> history_;
};

TEST_F(SqliteHistoryTest, knows_nothing_of_an_empty_database) {
  EXPECT_TRUE(listed({}).empty());
  EXPECT_EQ(history_->last_job().error().code, ErrorCode::kNotFound);
  EXPECT_EQ(history_->summary(JobId(1)).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(history_->tasks(JobId(1), {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(*history_->job_counts(), TaskCounts());
}

TEST_F(SqliteHistoryTest, a_summary_has_what_was_submitted) {
  RandomRecords random(5);
  JobSpec spec = random.spec();
  spec.command = {{"train"}, "", ""};
  spec.lease = false;
  const JobRow row = random.job_row(JobId(1));
  commit({.submitted = {{JobId(1), &spec}}, .jobs = {row}});
  const auto summary = history_->summary(JobId(1));
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->row, row);
  EXPECT_EQ(summary->name, spec.name);
  EXPECT_EQ(summary->user, spec.user);
  EXPECT_EQ(summary->project, spec.project);
  EXPECT_EQ(summary->kind, spec.kind);
  EXPECT_EQ(summary->command, "train");
  EXPECT_EQ(summary->tasks, spec.tasks);
  EXPECT_EQ(summary->request, spec.request);
  EXPECT_EQ(summary->priority, spec.priority);
  EXPECT_EQ(summary->time_limit, spec.time_limit);
  EXPECT_EQ(history_->lines(JobId(1), 0, 1000).value(), spec.lines);
  spec.lines.clear();
  EXPECT_EQ(history_->spec(JobId(1)).value(), spec);
}

TEST_F(SqliteHistoryTest, lists_page_by_page_newest_first) {
  for (std::uint64_t id = 1; id <= 5; ++id) submit(id, {});
  EXPECT_EQ(listed({.limit = 2}), (std::vector<std::uint64_t>{5, 4}));
  EXPECT_EQ(listed({.before = JobId(4), .limit = 2}), (std::vector<std::uint64_t>{3, 2}));
  EXPECT_EQ(listed({.before = JobId(2), .limit = 2}), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(*history_->last_job(), JobId(5));
}

// Every combination of filters, compared with going through all jobs one by one.
TEST_F(SqliteHistoryTest, filters_select_what_a_walk_over_all_jobs_selects) {
  constexpr std::uint64_t kSeed = 20;
  RandomRecords random(kSeed);
  const std::vector<std::string> users = {"ann", "bob\xff", "eve"};
  std::vector<JobSummary> all;
  for (std::uint64_t id = 1; id <= 60; ++id) {
    JobSpec spec;
    spec.user = users[random.below(2)];
    spec.name = random.coin() ? "" : std::string("n\0x", 3);
    submit(id, spec, random.choice(TaskState::kSkipped));
    all.insert(all.begin(), history_->summary(JobId(id)).value());
  }
  for (int i = 0; i < 400; ++i) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + " round " + std::to_string(i));
    JobFilter filter;
    filter.states = random.several([&] { return random.choice(TaskState::kSkipped); });
    if (random.coin()) filter.user = users[random.below(3)];
    if (random.coin()) filter.name = std::string("n\0x", 3);
    if (random.coin()) filter.ids = random.several([&] { return JobId(1 + random.below(70)); }, 30);
    if (random.coin()) filter.before = JobId(1 + random.below(70));
    filter.limit = static_cast<std::uint32_t>(random.below(20));
    std::vector<std::uint64_t> expected;
    for (const JobSummary& job : all) {
      const auto has = [](const auto& wanted, const auto& value) {
        return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
      };
      if (has(filter.states, job.row.state) && has(filter.ids, job.row.id) &&
          (filter.user.empty() || filter.user == job.user) &&
          (filter.name.empty() || filter.name == job.name) &&
          (filter.before.value == 0 || job.row.id < filter.before) &&
          expected.size() < filter.limit)
        expected.push_back(job.row.id.value);
    }
    ASSERT_EQ(listed(filter), expected);
  }
}

TEST_F(SqliteHistoryTest, counts_jobs_by_state_also_after_changes_and_restarts) {
  submit(1, {});
  submit(2, {});
  submit(3, {}, TaskState::kSucceeded);
  commit({.jobs = {JobRow{.id = JobId(1), .state = TaskState::kFailed}}});
  store_.reset();
  store_ = std::move(*SqliteStore::open(path()));
  commit({.jobs = {JobRow{.id = JobId(3), .state = TaskState::kQueued}}});
  TaskCounts expected;
  expected[TaskState::kQueued] = 2;
  expected[TaskState::kFailed] = 1;
  EXPECT_EQ(*history_->job_counts(), expected);
}

// Every filter, compared with going through all tasks one by one.
TEST_F(SqliteHistoryTest, task_listing_mixes_rows_and_tasks_without_a_row) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RandomRecords random(seed);
    JobSpec spec;
    spec.tasks.count = 30;
    const JobId id(seed);
    JobRow row;
    row.id = id;
    row.rest = random.choice(TaskState::kSkipped);
    const bool in_order = random.coin();
    std::vector<TaskRow> expected(30);
    Round round;
    for (std::uint32_t i = 0; i < 30; ++i) {
      expected[i].task = {id, i};
      expected[i].state = row.rest;
      if (in_order ? i < seed : random.coin()) {
        expected[i] = random.task_row({id, i});
        expected[i].attempts = 1;
        if (random.coin()) expected[i].state = TaskState::kSucceeded;
        round.tasks.push_back(expected[i]);
      }
      ++row.counts[expected[i].state];
    }
    round.submitted = {{id, &spec}};
    round.jobs = {row};
    commit(round);
    for (int i = 0; i < 40; ++i) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(i));
      const TaskFilter filter{random.several([&] { return random.choice(TaskState::kSkipped); }),
                              static_cast<std::uint32_t>(random.below(35)),
                              static_cast<std::uint32_t>(random.below(35))};
      std::vector<TaskRow> wanted;
      for (const TaskRow& task : expected) {
        const bool matches = filter.states.empty() ||
                             std::find(filter.states.begin(), filter.states.end(), task.state) !=
                                 filter.states.end();
        if (matches && task.task.index >= filter.from && wanted.size() < filter.limit)
          wanted.push_back(task);
      }
      const auto listed = history_->tasks(id, filter);
      ASSERT_TRUE(listed) << listed.error().message;
      ASSERT_EQ(*listed, wanted);
    }
  }
}

TEST_F(SqliteHistoryTest, a_job_of_a_million_tasks_is_listed_from_any_place) {
  JobSpec spec;
  spec.tasks.count = 1000000;
  submit(1, spec);
  EXPECT_EQ(tasks({.from = 999998}),
            (Shown{{999998, TaskState::kQueued}, {999999, TaskState::kQueued}}));
  EXPECT_EQ(tasks({.states = {TaskState::kQueued}, .limit = 1}).size(), 1u);
  EXPECT_TRUE(tasks({.states = {TaskState::kFailed}}).empty());
  EXPECT_TRUE(tasks({.from = 1000000}).empty());
}

TaskRow attempt_row(std::uint32_t number, TaskState state, std::int64_t ended_at = 0) {
  TaskRow row;
  row.task = {JobId(1), 0};
  row.attempts = number;
  row.state = state;
  row.node = NodeId(number);
  row.ended_at = TimePoint(ended_at);
  if (ended_at != 0) row.outcome.exit_code = static_cast<int>(number);
  return row;
}

TEST_F(SqliteHistoryTest, keeps_earlier_attempts) {
  submit(1, {});
  commit({.tasks = {attempt_row(1, TaskState::kQueued, 10)}});
  EXPECT_TRUE(history_->earlier_attempts({JobId(1), 0})->empty());
  commit({.tasks = {attempt_row(2, TaskState::kRunning)}});
  commit({.tasks = {attempt_row(2, TaskState::kFailed, 20)}});
  commit({.tasks = {attempt_row(3, TaskState::kRunning)}});
  const auto earlier = history_->earlier_attempts({JobId(1), 0});
  ASSERT_TRUE(earlier) << earlier.error().message;
  EXPECT_EQ(*earlier, (std::vector{attempt_row(1, TaskState::kFailed, 10),
                                   attempt_row(2, TaskState::kFailed, 20)}));
}

TEST_F(SqliteHistoryTest, keeps_an_attempt_that_ended_in_the_round_that_placed_the_next) {
  submit(1, {});
  commit({.tasks = {attempt_row(1, TaskState::kRunning)}});
  AttemptEnded ended;
  ended.attempt = {{JobId(1), 0}, 1};
  ended.ended_at = TimePoint(10);
  ended.outcome.exit_code = 1;
  commit({.events = {{TimePoint(11), ended}}, .tasks = {attempt_row(2, TaskState::kPlaced)}});
  EXPECT_EQ(*history_->earlier_attempts({JobId(1), 0}),
            (std::vector{attempt_row(1, TaskState::kFailed, 10)}));
}

TEST_F(SqliteHistoryTest, an_attempt_taken_back_is_no_earlier_attempt) {
  submit(1, {});
  TaskRow recalled = attempt_row(1, TaskState::kQueued, 10);
  recalled.outcome.ending = Ending::kRecalled;
  commit({.tasks = {recalled}});
  commit({.tasks = {attempt_row(2, TaskState::kRunning)}});
  EXPECT_TRUE(history_->earlier_attempts({JobId(1), 0})->empty());
}

TEST_F(SqliteHistoryTest, sees_whole_rounds_only_while_the_store_writes) {
  std::atomic<bool> done = false;
  std::atomic<int> broken = 0;
  std::thread reader([&] {
    while (!done) {
      const auto jobs = history_->list({.limit = 1000});
      if (!jobs || jobs->size() % 2 != 0) ++broken;
    }
  });
  const JobSpec spec;
  for (std::uint64_t id = 1; id < 300; id += 2)
    commit({.submitted = {{JobId(id), &spec}, {JobId(id + 1), &spec}}});
  done = true;
  reader.join();
  EXPECT_EQ(broken, 0);
  EXPECT_EQ(listed({.limit = 1000}).size(), 300u);
}

TEST(SqliteHistory, of_a_missing_file_is_an_error) {
  const TemporaryFolder folder;
  EXPECT_FALSE(SqliteHistory::open(folder.file("none.db")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("none.db")));
}

}  // namespace
}  // namespace tutti
