#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>
#include <sstream>

#include "store/random_records.h"
#include "store/schema.h"
#include "store/sqlite_history.h"
#include "store/sqlite_store.h"

namespace tutti {
namespace {

std::string content_of(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

void overwrite(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

void run_sql(const std::string& path, const std::string& sql) {
  auto connection = Connection::open(path, Connection::Mode::kReadWrite);
  ASSERT_TRUE(connection);
  const auto done = (*connection)->execute(sql.c_str());
  ASSERT_TRUE(done) << done.error().message;
}

class StoreFaults : public testing::Test {
 protected:
  std::string path() const { return folder_.file("tutti.db"); }
  std::unique_ptr<SqliteStore> open() {
    auto store = SqliteStore::open(path());
    EXPECT_TRUE(store) << store.error().message;
    return store ? std::move(*store) : nullptr;
  }
  Error open_error() {
    const auto store = SqliteStore::open(path());
    EXPECT_FALSE(store);
    return store ? Error{} : store.error();
  }
  // A database with a few hundred pages.
  void fill() {
    const auto store = open();
    RandomRecords random(1);
    std::vector<JobSpec> specs(20);
    Round round;
    for (JobSpec& spec : specs) {
      spec = random.spec();
      round.submitted.emplace_back(JobId(round.submitted.size() + 1), &spec);
    }
    ASSERT_TRUE(store->commit(round));
  }
  static Round round_with_lines(JobId job, JobSpec& spec, std::size_t bytes) {
    spec.lines.assign(bytes / 1000, std::string(1000, 'x'));
    Round round;
    round.submitted = {{job, &spec}};
    round.events = {{TimePoint(1), JobSubmitted{facts_of(job, spec)}}};
    return round;
  }

  TemporaryFolder folder_;
};

TEST_F(StoreFaults, a_newer_database_is_refused_and_left_untouched) {
  fill();
  ASSERT_TRUE(check_database(path()));
  run_sql(path(), "PRAGMA user_version = " + std::to_string(kFormatVersion + 1));
  EXPECT_EQ(check_database(path()).error().code, ErrorCode::kUnsupported);
  const std::string before = content_of(path());
  const Error error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.message, "database " + path() + " was written by a newer Tutti (format " +
                               std::to_string(kFormatVersion + 1) + ", this one knows " +
                               std::to_string(kFormatVersion) +
                               "): "
                               "upgrade tutti, or use another TUTTI_HOME");
  EXPECT_EQ(content_of(path()), before);
  EXPECT_EQ(SqliteHistory::open(path()).error().code, ErrorCode::kUnsupported);
}

TEST_F(StoreFaults, a_database_of_format_four_gets_a_table_of_speeds) {
  fill();
  run_sql(path(), "DROP TABLE speeds; PRAGMA user_version = 4");
  auto store = SqliteStore::open(path());
  ASSERT_TRUE(store) << store.error().message;
  Round round;
  round.events = {{TimePoint(1), SpeedsChanged{{{{{"bert", 1, 1}, {"a100", 1, 1}}, Speed{2}}}}}};
  EXPECT_TRUE((*store)->commit(round));
  EXPECT_EQ((*store)->recover()->speeds.size(), 1u);
}

TEST_F(StoreFaults, speeds_of_format_five_are_those_of_the_best_plan) {
  fill();
  run_sql(path(),
          "DROP TABLE speeds; CREATE TABLE speeds(model TEXT NOT NULL, parameters INTEGER NOT "
          "NULL, batch INTEGER NOT NULL, type TEXT NOT NULL, nodes INTEGER NOT NULL, per_node "
          "INTEGER NOT NULL, seconds REAL NOT NULL, PRIMARY KEY(model, parameters, batch, type, "
          "nodes, per_node)) WITHOUT ROWID; INSERT INTO speeds VALUES('bert', 1, 1, 'a100', 1, 4, "
          "2.5); PRAGMA user_version = 5");
  auto store = SqliteStore::open(path());
  ASSERT_TRUE(store) << store.error().message;
  SpeedTable expected;
  expected.set({{"bert", 1, 1}, {"a100", 1, 4}, 0}, {2.5});
  EXPECT_EQ((*store)->recover()->speeds, expected);
}

TEST_F(StoreFaults, a_database_of_another_program_is_refused) {
  run_sql(path(), "CREATE TABLE theirs(x)");
  EXPECT_EQ(open_error().code, ErrorCode::kConflict);
}

TEST_F(StoreFaults, a_file_that_is_no_database_is_corrupt_and_left_untouched) {
  const std::string text(5000, 'x');
  overwrite(path(), text);
  const Error error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_NE(error.message.find("restore a backup"), std::string::npos) << error.message;
  EXPECT_EQ(content_of(path()), text);
}

TEST_F(StoreFaults, a_database_that_was_cut_is_corrupt_at_open) {
  fill();
  const std::string whole = content_of(path());
  overwrite(path(), whole.substr(0, 4096 * 4));
  EXPECT_EQ(open_error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(content_of(path()).size(), 4096u * 4);
}

TEST_F(StoreFaults, an_overwritten_page_gives_an_error_and_never_a_crash) {
  fill();
  const std::string whole = content_of(path());
  int noticed = 0;
  for (std::size_t page = 1; page * 4096 < whole.size(); page += 7) {
    std::string damaged = whole;
    damaged.replace(page * 4096, 4096, 4096, '\xA5');
    overwrite(path(), damaged);
    const auto store = SqliteStore::open(path());
    if (!store) {
      EXPECT_EQ(store.error().code, ErrorCode::kCorrupt) << store.error().message;
      ++noticed;
      continue;
    }
    const auto recovered = (*store)->recover();
    EXPECT_TRUE(recovered || recovered.error().code == ErrorCode::kCorrupt);
    for (std::uint64_t id = 1; id <= 20; ++id) {
      const auto spec = (*store)->load_spec(JobId(id));
      const auto lines = (*store)->load_lines(JobId(id), 0, 50);
      noticed += !spec || !lines ? 1 : 0;
    }
  }
  EXPECT_GT(noticed, 0);
}

TEST_F(StoreFaults, an_empty_file_becomes_a_database) {
  overwrite(path(), "");
  EXPECT_NE(open(), nullptr);
}

// The largest size that files may get, for as long as it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    previous_action_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &previous_);
    const rlimit lowered{bytes, previous_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &lowered);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &previous_);
    signal(SIGXFSZ, previous_action_);
  }

 private:
  rlimit previous_{};
  sighandler_t previous_action_;
};

TEST_F(StoreFaults, a_round_that_does_not_fit_the_disk_leaves_nothing_and_later_ones_work) {
  const auto store = open();
  JobSpec small;
  ASSERT_TRUE(store->commit(round_with_lines(JobId(1), small, 1000)));
  // More than the page cache holds, so that the failure comes in the middle and not at the end.
  for (const std::size_t bytes : {std::size_t{1000000}, std::size_t{12000000}}) {
    JobSpec large;
    {
      const FileSizeLimit limit(600000);
      const auto refused = store->commit(round_with_lines(JobId(2), large, bytes));
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, ErrorCode::kExhausted) << refused.error().message;
      EXPECT_EQ(store->read_journal(1, 10)->size(), 1u);
      EXPECT_EQ(store->load_job(JobId(2)).error().code, ErrorCode::kNotFound);
    }
  }
  JobSpec large;
  const auto later = store->commit(round_with_lines(JobId(2), large, 2000000));
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(store->load_lines(JobId(2), 1999, 1)->front(), std::string(1000, 'x'));
  EXPECT_EQ(store->recover()->jobs.size(), 2u);
}

TEST_F(StoreFaults, a_refused_round_leaves_counters_and_environments_as_they_were) {
  const auto store = open();
  JobSpec spec;
  spec.env = {"A=1"};
  Round broken;
  broken.submitted = {{JobId(1), &spec}};
  broken.jobs = {JobRow{.id = JobId(99)}};
  ASSERT_FALSE(store->commit(broken));
  ASSERT_TRUE(store->commit({.submitted = {{JobId(1), &spec}}}));
  EXPECT_EQ(store->load_spec(JobId(1))->env, spec.env);
  const auto history = SqliteHistory::open(path());
  EXPECT_EQ((*(*history)->job_counts())[TaskState::kQueued], 1u);
}

TEST_F(StoreFaults, a_locked_database_is_a_conflict_until_the_lock_is_gone) {
  const auto store = open();
  auto other = Connection::open(path(), Connection::Mode::kReadWrite);
  ASSERT_TRUE((*other)->execute("BEGIN IMMEDIATE"));
  EXPECT_EQ(open_error().code, ErrorCode::kConflict);
  const Round round{.events = {{TimePoint(1), StopOrdered{}}}};
  EXPECT_EQ(store->commit(round).error().code, ErrorCode::kConflict);
  ASSERT_TRUE((*other)->execute("ROLLBACK"));
  EXPECT_TRUE(store->commit(round));
}

// Root may write everywhere, so the question is asked by a child that is nobody.
ErrorCode open_as_nobody(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() == 0 && setuid(65534) != 0) _exit(100);
    const auto store = SqliteStore::open(path);
    _exit(store ? 101 : static_cast<int>(store.error().code));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return static_cast<ErrorCode>(WEXITSTATUS(status));
}

TEST_F(StoreFaults, a_folder_that_cannot_be_written_is_denied) {
  ::chmod(folder_.path().c_str(), 0555);
  EXPECT_EQ(open_as_nobody(path()), ErrorCode::kDenied);
  ::chmod(folder_.path().c_str(), 0755);
  fill();
  ::chmod(folder_.path().c_str(), 0555);
  ::chmod(path().c_str(), 0444);
  EXPECT_EQ(open_as_nobody(path()), ErrorCode::kDenied);
  ::chmod(folder_.path().c_str(), 0755);
}

TEST_F(StoreFaults, a_missing_folder_is_an_error_that_names_it) {
  const auto store = SqliteStore::open(folder_.file("none/tutti.db"));
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("none/tutti.db"), std::string::npos);
}

TEST_F(StoreFaults, the_write_ahead_log_stays_bounded) {
  const auto store = open();
  for (std::uint64_t id = 1; id <= 12; ++id) {
    JobSpec spec;
    ASSERT_TRUE(store->commit(round_with_lines(JobId(id), spec, 4000000)));
  }
  EXPECT_LE(std::filesystem::file_size(path() + "-wal"), 20u << 20);
}

TEST_F(StoreFaults, migrations_run_in_order_and_set_the_version) {
  auto connection = Connection::open(path(), Connection::Mode::kReadWrite);
  const Migration steps[] = {{2, "ALTER TABLE t ADD COLUMN b"}, {1, "CREATE TABLE t(a)"}};
  const auto done = migrate(**connection, steps, 1, 3);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(*(*connection)->number("PRAGMA user_version"), 3);
  EXPECT_TRUE((*connection)->execute("INSERT INTO t(a, b) VALUES(1, 2)"));
  EXPECT_EQ(migrate(**connection, steps, 3, 4).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace tutti
