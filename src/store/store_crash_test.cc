#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "store/random_records.h"
#include "store/sqlite_store.h"

namespace tutti {
namespace {

constexpr std::uint32_t kTasks = 3;

Round round_number(std::uint64_t number, const JobSpec& spec) {
  const JobId job(number);
  Round round;
  round.submitted = {{job, &spec}};
  round.events = {{TimePoint(1), JobSubmitted{facts_of(job, spec)}}};
  for (std::uint32_t i = 0; i < kTasks; ++i) {
    TaskRow task;
    task.task = {job, i};
    task.lane = LaneId(number);
    round.tasks.push_back(task);
    round.events.push_back({TimePoint(2), AttemptStarted{{task.task, 1}, TimePoint(2), 7}});
  }
  return round;
}

// Commits round after round, and says so, until it is killed.
[[noreturn]] void commit_until_killed(const std::string& path, int acknowledge) {
  auto store = SqliteStore::open(path);
  if (!store) _exit(1);
  const JobSpec spec = RandomRecords(1).spec();
  for (std::uint64_t number = (*store)->recover()->next_job;; ++number) {
    if (!(*store)->commit(round_number(number, spec))) _exit(2);
    if (write(acknowledge, &number, sizeof number) != sizeof number) _exit(3);
  }
}

// Lets a child commit, kills it after `rounds` acknowledgements at whatever it does then, and
// returns the last round that it acknowledged.
std::uint64_t last_acknowledged(const std::string& path, std::uint64_t rounds) {
  int ends[2];
  TUTTI_CHECK(pipe(ends) == 0);
  UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const pid_t child = fork();
  if (child == 0) commit_until_killed(path, writing.get());
  writing.reset();
  std::uint64_t last = 0;
  for (std::uint64_t n = 0; n < rounds; ++n)
    if (read(reading.get(), &last, sizeof last) != sizeof last) break;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  std::uint64_t number = 0;
  while (read(reading.get(), &number, sizeof number) == sizeof number) last = number;
  return last;
}

TEST(StoreCrash, everything_acknowledged_is_there_and_rounds_are_whole_after_sigkill) {
  const TemporaryFolder folder;
  const std::string path = folder.file("tutti.db");
  RandomRecords random(5);
  for (int i = 0; i < 12; ++i) {
    const std::uint64_t acknowledged = last_acknowledged(path, 1 + random.below(40));
    ASSERT_GT(acknowledged, 0u);
    auto store = SqliteStore::open(path);
    ASSERT_TRUE(store) << store.error().message;
    const auto recovered = (*store)->recover();
    ASSERT_TRUE(recovered) << recovered.error().message;
    const std::uint64_t rounds = recovered->next_job - 1;
    ASSERT_GE(rounds, acknowledged);
    ASSERT_LE(rounds, acknowledged + 1);
    ASSERT_EQ(recovered->next_lane, rounds + 1);
    ASSERT_EQ(recovered->jobs.size(), rounds);
    for (const auto& job : recovered->jobs) ASSERT_EQ(job.tasks.size(), kTasks);
    ASSERT_EQ((*store)->read_journal(1, 1000000)->size(), rounds * (1 + kTasks));
    const JobSpec spec = RandomRecords(1).spec();
    const auto count = static_cast<std::uint32_t>(spec.lines.size());
    ASSERT_EQ((*store)->load_lines(JobId(rounds), 0, count).value(), spec.lines);
  }
}

}  // namespace
}  // namespace tutti
