#include "store/schema.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/unique_fd.h"

namespace tutti {
namespace {

constexpr std::int64_t kApplicationId = 0x54757474;  // "Tutt", in the file's header

// As format 5 had it.
#define TUTTI_SPEEDS_WITHOUT_STAGES                                                                \
  "CREATE TABLE speeds(model TEXT NOT NULL, parameters INTEGER NOT NULL, batch INTEGER NOT NULL, " \
  "type TEXT NOT NULL, nodes INTEGER NOT NULL, per_node INTEGER NOT NULL, seconds REAL NOT NULL, " \
  "PRIMARY KEY(model, parameters, batch, type, nodes, per_node)) WITHOUT ROWID;"
#define TUTTI_SPEEDS_TABLE                                                                         \
  "CREATE TABLE speeds(model TEXT NOT NULL, parameters INTEGER NOT NULL, batch INTEGER NOT NULL, " \
  "type TEXT NOT NULL, nodes INTEGER NOT NULL, per_node INTEGER NOT NULL, "                        \
  "stages INTEGER NOT NULL, seconds REAL NOT NULL, "                                               \
  "PRIMARY KEY(model, parameters, batch, type, nodes, per_node, stages)) WITHOUT ROWID;"

// Where only records and events changed, the tables stay as they are: those say their own version.
constexpr Migration kSteps[] = {
    {1, ""},
    {2, ""},
    {3, ""},
    {4, TUTTI_SPEEDS_WITHOUT_STAGES},
    {5, "ALTER TABLE speeds RENAME TO speeds_of_5;" TUTTI_SPEEDS_TABLE
        "INSERT INTO speeds SELECT model, parameters, batch, type, nodes, per_node, 0, seconds "
        "FROM speeds_of_5; DROP TABLE speeds_of_5;"},
    {6, ""}};
constexpr std::span<const Migration> kMigrations = kSteps;

// Debian's build overwrites deleted content by default, which costs time; the home folder is
// private.
constexpr const char* kWriterSettings =
    "PRAGMA synchronous = FULL;"
    "PRAGMA cache_size = -4096;"
    "PRAGMA mmap_size = 0;"
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA secure_delete = OFF;"
    "PRAGMA trusted_schema = OFF;"
    "PRAGMA journal_size_limit = 16777216;";
constexpr const char* kReaderSettings =
    "PRAGMA cache_size = -2048;"
    "PRAGMA mmap_size = 0;"
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA trusted_schema = OFF;"
    "PRAGMA query_only = ON;";

// What the file says it is.
struct Header {
  std::int64_t version = 0;
  bool empty = false;
};

Result<Header> read_header(Connection& connection) {
  const auto version = connection.number("PRAGMA user_version");
  if (!version) return version.error();
  const auto application = connection.number("PRAGMA application_id");
  if (!application) return application.error();
  const auto objects = connection.number("SELECT count(*) FROM sqlite_schema");
  if (!objects) return objects.error();

  const Header header{*version, *version == 0 && *application == 0 && *objects == 0};
  const std::string where = "database " + connection.path();
  if (header.empty) return header;
  if (*application != kApplicationId)
    return conflict(where + " belongs to another program: use another TUTTI_HOME");
  if (*version > kFormatVersion)
    return Error{ErrorCode::kUnsupported, where + " was written by a newer Tutti (format " +
                                              std::to_string(*version) + ", this one knows " +
                                              std::to_string(kFormatVersion) +
                                              "): upgrade tutti, or use another TUTTI_HOME"};
  if (*version < 1) return connection.corrupt("it has no format version");
  return header;
}

Result<void> use_write_ahead_log(Connection& connection) {
  Query mode = connection.query("PRAGMA journal_mode = WAL");
  const auto row = mode.next();
  if (!row) return row.error();
  if (!*row || mode.bytes_at(0) != "wal")
    return Error{ErrorCode::kUnsupported,
                 "database " + connection.path() +
                     ": its file system has no shared memory for SQLite's write-ahead log: put "
                     "TUTTI_HOME on a local disk"};
  return {};
}

Result<void> bring_to_version(Connection& connection, const Header& header) {
  Transaction transaction(connection);
  if (auto begun = transaction.begin_write(); !begun) return begun;
  if (header.empty) {
    if (auto made = connection.execute(kSchemaSql); !made) return made;
    const std::string marks = "PRAGMA application_id = " + std::to_string(kApplicationId) +
                              "; PRAGMA user_version = " + std::to_string(kFormatVersion);
    if (auto marked = connection.execute(marks.c_str()); !marked) return marked;
  } else if (header.version < kFormatVersion) {
    auto done = migrate(connection, kMigrations, static_cast<int>(header.version), kFormatVersion);
    if (!done) return done;
  } else {
    return {};  // the lock was free, that is all we wanted to know
  }
  return transaction.commit();
}

// Reads the ends of the trees that every round writes to: a file that was cut or overwritten shows
// there without reading all of it.
Result<void> check_cheaply(Connection& connection) {
  for (const char* sql : {"SELECT max(seq) FROM journal", "SELECT max(id) FROM jobs",
                          "SELECT max(job) FROM tasks", "SELECT max(job) FROM specs",
                          "SELECT count(*) FROM meta", "SELECT max(id) FROM environments"})
    if (auto read = connection.number(sql); !read) return read.error();
  return {};
}

// Adds what SQLite's own check finds to the error of a damaged file.
Error with_details(Connection& connection, const Error& error) {
  if (error.code != ErrorCode::kCorrupt) return error;
  Query check = connection.query("PRAGMA quick_check(1)");
  const auto row = check.next();
  if (!row || !*row || check.bytes_at(0) == "ok") return error;
  return connection.corrupt(check.bytes_at(0));
}

// SQLite would create the file readable for all, and it holds environments.
Result<void> create_private(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) {
    if (errno == EEXIST) return {};
    const int error = errno;
    const bool denied = error == EACCES || error == EPERM || error == EROFS;
    Error failed = io_error("cannot create database " + path, error);
    failed.message += ": make its folder exist and writable, or use another TUTTI_HOME";
    if (denied) failed.code = ErrorCode::kDenied;
    return failed;
  }
  const std::string folder = std::filesystem::path(path).parent_path();
  const UniqueFd parent(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (parent) ::fsync(parent.get());
  return {};
}

// With a new database, what was written last, and is in the log beside it only, would be thrown
// away; and so would be all that a file was which is empty now.
Result<void> refuse_what_was_emptied(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const auto size_of = [&](const std::string& file) {
    const auto size = fs::file_size(file, failure);
    return failure ? 0 : size;
  };
  if (size_of(path) > 0) return {};
  const bool exists = fs::exists(path, failure);
  const std::string state = exists ? "empty" : "not there";
  if (size_of(path + "-wal") > 0)
    return Error{ErrorCode::kCorrupt,
                 "database " + path + " is " + state +
                     ", but its write-ahead log is there: put the database back beside it, or move "
                     "tutti.db-wal and tutti.db-shm away, too, to begin with an empty one"};
  const bool logs = fs::exists(fs::path(path).parent_path() / "logs" / "0", failure);
  if (exists && logs)
    return Error{
        ErrorCode::kCorrupt,
        "database " + path +
            " is empty, but there is output of its jobs: restore a backup of it, or move it "
            "away to begin with an empty one"};
  return {};
}

Result<void> prepare_writer(Connection& connection) {
  const auto header = read_header(connection);
  if (!header) return header.error();
  if (auto set = connection.execute(kWriterSettings); !set) return set;
  if (auto logged = use_write_ahead_log(connection); !logged) return logged;
  if (auto brought = bring_to_version(connection, *header); !brought) return brought;
  return check_cheaply(connection);
}

}  // namespace

Result<void> migrate(Connection& connection, std::span<const Migration> steps, int from, int to) {
  for (int version = from; version < to; ++version) {
    const Migration* step = nullptr;
    for (const Migration& candidate : steps)
      if (candidate.from == version) step = &candidate;
    if (step == nullptr)
      return Error{ErrorCode::kUnsupported, "database " + connection.path() + " has format " +
                                                std::to_string(version) +
                                                ", from which this tutti cannot upgrade"};
    if (auto done = connection.execute(step->sql); !done) return done;
  }
  const std::string mark = "PRAGMA user_version = " + std::to_string(to);
  return connection.execute(mark.c_str());
}

Result<std::unique_ptr<Connection>> open_writer(const std::string& path) {
  if (auto kept = refuse_what_was_emptied(path); !kept) return kept.error();
  if (auto created = create_private(path); !created) return created.error();
  auto connection = Connection::open(path, Connection::Mode::kReadWrite);
  if (!connection) return connection;
  (*connection)->leave_file_untouched(true);
  if (auto prepared = prepare_writer(**connection); !prepared)
    return with_details(**connection, prepared.error());
  (*connection)->leave_file_untouched(false);
  return connection;
}

Result<void> check_database(const std::string& path) {
  if (auto kept = refuse_what_was_emptied(path); !kept) return kept;
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) return {};
  auto connection = Connection::open(path, Connection::Mode::kReadOnly);
  if (!connection) return connection.error();
  const auto header = read_header(**connection);
  Result<void> checked = header ? Result<void>() : header.error();
  if (header && !header->empty) checked = check_cheaply(**connection);
  if (!checked) return with_details(**connection, checked.error());
  return {};
}

Result<std::unique_ptr<Connection>> open_reader(const std::string& path) {
  auto connection = Connection::open(path, Connection::Mode::kReadOnly);
  if (!connection) return connection;
  if (auto set = (*connection)->execute(kReaderSettings); !set) return set.error();
  const auto header = read_header(**connection);
  if (!header) return header.error();
  if (header->empty || header->version != kFormatVersion)
    return Error{ErrorCode::kUnavailable,
                 "database " + path + " is not ready: start the daemon, which prepares it"};
  return connection;
}

const char* const kSchemaSql = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE journal(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind INTEGER NOT NULL,
  body BLOB NOT NULL);
CREATE TABLE jobs(id INTEGER PRIMARY KEY, state INTEGER NOT NULL, rest INTEGER NOT NULL,
  counts BLOB NOT NULL, submitted_at INTEGER NOT NULL, started_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL, exit_status INTEGER NOT NULL, name TEXT NOT NULL,
  user TEXT NOT NULL, project TEXT NOT NULL, kind TEXT NOT NULL, command TEXT NOT NULL,
  shape INTEGER NOT NULL, task_count INTEGER NOT NULL, first_label INTEGER NOT NULL,
  label_step INTEGER NOT NULL, max_parallel INTEGER NOT NULL, cpus INTEGER NOT NULL,
  memory INTEGER NOT NULL, limits INTEGER NOT NULL, rare_request BLOB, priority INTEGER NOT NULL,
  time_limit INTEGER NOT NULL, retries INTEGER NOT NULL, backoff INTEGER NOT NULL, waits_for BLOB);
CREATE INDEX jobs_by_state ON jobs(state);
CREATE INDEX jobs_by_user ON jobs(user, state);
CREATE INDEX jobs_by_name ON jobs(name) WHERE name <> '';
CREATE TABLE specs(job INTEGER PRIMARY KEY, body BLOB NOT NULL, environment INTEGER NOT NULL);
CREATE TABLE environments(id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, body BLOB NOT NULL);
CREATE TABLE lines(job INTEGER NOT NULL, first INTEGER NOT NULL, body BLOB NOT NULL,
  PRIMARY KEY(job, first)) WITHOUT ROWID;
CREATE TABLE tasks(job INTEGER NOT NULL, idx INTEGER NOT NULL, state INTEGER NOT NULL,
  body BLOB NOT NULL, PRIMARY KEY(job, idx)) WITHOUT ROWID;
CREATE INDEX tasks_by_state ON tasks(job, state, idx) WHERE state <> 3;
CREATE TABLE earlier_attempts(job INTEGER NOT NULL, idx INTEGER NOT NULL, number INTEGER NOT NULL,
  state INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY(job, idx, number)) WITHOUT ROWID;
CREATE TABLE nodes(id INTEGER PRIMARY KEY, state INTEGER NOT NULL, reason TEXT NOT NULL,
  body BLOB NOT NULL);
CREATE TABLE profiles(kind TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE usage(project TEXT NOT NULL, user TEXT NOT NULL, cpu_seconds REAL NOT NULL,
  as_of INTEGER NOT NULL, PRIMARY KEY(project, user)) WITHOUT ROWID;
)sql" TUTTI_SPEEDS_TABLE "\n";

}  // namespace tutti
