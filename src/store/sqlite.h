#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tutti {

class Connection;

// One use of a prepared statement: bind in order, then step. Text and blobs are not copied and must
// live until the step. When it goes, the statement is reset, so that it holds no snapshot.
class Query {
 public:
  Query(Connection& connection, sqlite3_stmt* statement)
      : connection_(&connection), statement_(statement) {}
  Query(Query&& other) noexcept
      : connection_(other.connection_), statement_(std::exchange(other.statement_, nullptr)) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  Query& operator=(Query&&) = delete;
  ~Query() { reset(); }

  Query& integer(std::int64_t value);
  Query& real(double value);
  Query& text(std::string_view value);
  Query& blob(std::string_view value);
  Query& null();

  // Whether there is a further row.
  Result<bool> next();
  // For a statement without rows: steps it and makes it ready to be bound again.
  Result<void> run();
  void reset();

  std::int64_t integer_at(int column) const;
  double real_at(int column) const;
  // Valid until the next step.
  std::string_view bytes_at(int column) const;
  bool null_at(int column) const;

 private:
  Connection* connection_;
  sqlite3_stmt* statement_;
  int bound_ = 0;
};

// One connection to a database file, with its prepared statements. Used by one thread.
class Connection {
 public:
  enum class Mode { kReadWrite, kReadOnly };
  static Result<std::unique_ptr<Connection>> open(const std::string& path, Mode mode);

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Runs statements that return nothing of interest.
  Result<void> execute(const char* sql);
  // The statement is prepared once and found again by the address of its text, which therefore must
  // be a constant. A text that cannot be prepared gives its error when stepped.
  Query query(const char* sql);
  // The first column of the first row; zero without rows.
  Result<std::int64_t> number(const char* sql);

  // The id of the last row inserted.
  std::int64_t last_row() const;
  // How many rows the last statement has deleted, inserted or changed.
  std::int64_t changed_rows() const;
  bool in_transaction() const;
  void roll_back();
  // Copies as much of the write-ahead log into the file as others that use it allow.
  void copy_log();
  // Calls `grown` after every commit with the number of pages in the log; false: it is to be copied
  // now. Without this SQLite decides.
  void watch_log(std::function<bool(int pages)> grown);
  // By default, closing the last connection copies the write-ahead log into the file.
  void leave_file_untouched(bool untouched);

  const std::string& path() const { return path_; }
  // What the last failed call means for the user.
  Error last_error();
  // Rows that cannot be what this program wrote.
  Error corrupt(std::string_view what) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Connection(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::function<bool(int pages)> grown_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::unordered_map<const char*, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;
};

// A transaction that is rolled back unless it was committed.
class Transaction {
 public:
  explicit Transaction(Connection& connection) : connection_(connection) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() { connection_.roll_back(); }

  Result<void> begin_write() { return connection_.query("BEGIN IMMEDIATE").run(); }
  // All reads until the end see the same state.
  Result<void> begin_read() { return connection_.query("BEGIN").run(); }
  Result<void> commit() { return connection_.query("COMMIT").run(); }

 private:
  Connection& connection_;
};

}  // namespace tutti
