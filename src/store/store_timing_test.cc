// Prints what storage costs; asserts only that the answers are right. TUTTI_TIMING_JOBS sets the
// number of jobs.

#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "store/random_records.h"
#include "store/sqlite_history.h"
#include "store/sqlite_store.h"

namespace tutti {
namespace {

// Measures wall-clock and processor time from its construction on.
class Stopwatch {
 public:
  void print(const char* what, double divisor = 1, const char* unit = "ms") const {
    const double wall = std::chrono::duration<double, std::milli>(Clock::now() - wall_).count();
    const double cpu = cpu_now() - cpu_;
    const double scale = unit[0] == 'u' ? 1000 : 1;
    std::printf("  %-58s %8.3f %s wall %8.3f %s cpu\n", what, wall * scale / divisor, unit,
                cpu * scale / divisor, unit);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double cpu_now() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
  }
  Clock::time_point wall_ = Clock::now();
  double cpu_ = cpu_now();
};

class StoreTiming : public testing::Test {
 protected:
  void SetUp() override {
    store_ = std::move(*SqliteStore::open(path()));
    history_ = std::move(*SqliteHistory::open(path()));
  }
  std::string path() const { return folder_.file("tutti.db"); }
  static std::uint64_t jobs() {
    const char* text = std::getenv("TUTTI_TIMING_JOBS");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : 20000;
  }
  static JobSpec plain_spec() {
    JobSpec spec;
    spec.user = "ann";
    spec.kind = "python train.py";
    spec.command.argv = {"python", "train.py", "--seed", "17"};
    spec.workdir = "/home/ann/project";
    for (int i = 0; i < 60; ++i)
      spec.env.push_back("VARIABLE_" + std::to_string(i) + "=value value");
    return spec;
  }

  TemporaryFolder folder_;
  std::unique_ptr<SqliteStore> store_;
  std::unique_ptr<SqliteHistory> history_;
};

TEST_F(StoreTiming, batch_of_100000_lines) {
  JobSpec spec = plain_spec();
  spec.tasks.count = 100000;
  for (int i = 0; i < 100000; ++i)
    spec.lines.push_back("python train.py --data /data/set --seed " + std::to_string(i));
  Round round;
  round.events = {{TimePoint(1), JobSubmitted{facts_of(JobId(1), spec)}}};
  round.submitted = {{JobId(1), &spec}};
  const Stopwatch accept;
  ASSERT_TRUE(store_->commit(round));
  accept.print("accept a batch of 100,000 lines");
  const Stopwatch load;
  for (std::uint32_t i = 0; i < 100000; ++i)
    ASSERT_EQ(store_->load_lines(JobId(1), i, 1)->front().size(), spec.lines[i].size());
  load.print("load its lines one by one, each", 100000, "us");
}

TEST_F(StoreTiming, finished_tasks) {
  constexpr std::uint32_t kFinished = 20000;
  constexpr std::uint32_t kPerRound = 100;
  JobSpec spec = plain_spec();
  spec.tasks.count = kFinished;
  JobRow row;
  row.id = JobId(1);
  ASSERT_TRUE(store_->commit({.submitted = {{row.id, &spec}}, .jobs = {row}}));
  const Stopwatch run;
  for (std::uint32_t first = 0; first < kFinished; first += kPerRound) {
    Round placed;
    Round ended;
    for (std::uint32_t i = first; i < first + kPerRound; ++i) {
      const AttemptId attempt{{row.id, i}, 1};
      TaskRow task;
      task.task = attempt.task;
      task.state = TaskState::kPlaced;
      task.attempts = 1;
      task.node = NodeId(1);
      task.lane = LaneId(i);
      task.placed_at = TimePoint(1700000000000000 + i);
      placed.events.push_back({task.placed_at, AttemptPlaced{attempt, task.lane, false, {}}});
      placed.tasks.push_back(task);
      task.state = TaskState::kSucceeded;
      task.started_at = task.ended_at = task.placed_at;
      task.pid = 12345;
      ended.events.push_back(
          {task.ended_at, AttemptEnded{attempt, task.started_at, task.ended_at, Outcome(), true}});
      ended.tasks.push_back(task);
    }
    row.counts[TaskState::kSucceeded] = first + kPerRound;
    placed.jobs = ended.jobs = {row};
    ASSERT_TRUE(store_->commit(placed));
    ASSERT_TRUE(store_->commit(ended));
  }
  run.print("a finished task, with fsyncs of 2 rounds for 100", kFinished, "us");
  const Stopwatch queued;
  ASSERT_TRUE(history_->tasks(row.id, {.states = {TaskState::kQueued}}));
  queued.print("list tasks that are queued");
}

TEST_F(StoreTiming, many_jobs_half_of_them_finished) {
  const JobSpec spec = plain_spec();
  Round round;
  for (std::uint64_t id = 1; id <= jobs(); ++id) {
    round.submitted.emplace_back(JobId(id), &spec);
    JobRow row;
    row.id = JobId(id);
    row.state = id * 2 <= jobs() ? TaskState::kSucceeded : TaskState::kQueued;
    row.counts[row.state] = 1;
    round.jobs.push_back(row);
    round.events.push_back({TimePoint(1), JobSubmitted{facts_of(JobId(id), spec)}});
    if (row.state != TaskState::kSucceeded) continue;
    TaskRow task;
    task.task = {row.id, 0};
    task.state = row.state;
    round.tasks.push_back(task);
  }
  const Stopwatch submit;
  ASSERT_TRUE(store_->commit(round));
  submit.print("submit single jobs in one round, each", static_cast<double>(jobs()), "us");
  const Stopwatch recover;
  const auto recovered = store_->recover();
  recover.print("recover half of them");
  ASSERT_EQ(recovered->jobs.size(), jobs() - jobs() / 2);

  for (const auto& [what, filter] :
       {std::pair<const char*, JobFilter>{"first page of all", {}},
        {"first page of failed", {.states = {TaskState::kFailed}}},
        {"first page of a user's finished", {.states = {TaskState::kSucceeded}, .user = "ann"}},
        {"first page of a user without jobs", {.user = "bob"}},
        {"first page of a name", {.name = "none"}}}) {
    const Stopwatch list;
    ASSERT_TRUE(history_->list(filter));
    list.print(what);
  }
  const Stopwatch count;
  ASSERT_TRUE(history_->job_counts());
  count.print("count all jobs by state");
}

}  // namespace
}  // namespace tutti
