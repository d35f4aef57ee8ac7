#include "store/sqlite.h"

#include <sqlite3.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace tutti {
namespace {

constexpr int kBusyMilliseconds = 500;

Error file_error(const std::string& where, int primary, int system_error, const std::string& text) {
  const std::string why = system_error != 0 ? std::generic_category().message(system_error) : text;
  const bool denied = primary == SQLITE_READONLY || primary == SQLITE_PERM ||
                      system_error == EACCES || system_error == EPERM || system_error == EROFS;
  if (denied)
    return {ErrorCode::kDenied, where + " cannot be written (" + why +
                                    "): make its folder and files writable for this user, or use "
                                    "another TUTTI_HOME"};
  const bool used_up = primary == SQLITE_FULL || system_error == ENOSPC || system_error == EDQUOT ||
                       system_error == EFBIG;
  if (used_up)
    return {ErrorCode::kExhausted,
            where + ": no space left to write (" + why + "): nothing was changed; free disk space"};
  if (system_error == EMFILE || system_error == ENFILE || primary == SQLITE_NOMEM)
    return {ErrorCode::kExhausted, where + ": " + why + ": raise the limit (ulimit -n, memory)"};
  return {ErrorCode::kIo, where + ": " + why};
}

// SQLite forgets the system's error number when a commit fails, but the log's file keeps it.
int system_error_of(sqlite3* handle) {
  sqlite3_file* log = nullptr;
  int number = 0;
  sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (log != nullptr && log->pMethods != nullptr)
    log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &number);
  return number != 0 ? number : sqlite3_system_errno(handle);
}

}  // namespace

Query& Query::integer(std::int64_t value) {
  if (statement_ != nullptr) sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Query& Query::real(double value) {
  if (statement_ != nullptr) sqlite3_bind_double(statement_, ++bound_, value);
  return *this;
}

Query& Query::text(std::string_view value) {
  const char* bytes = value.empty() ? "" : value.data();
  if (statement_ != nullptr)
    sqlite3_bind_text64(statement_, ++bound_, bytes, value.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Query& Query::blob(std::string_view value) {
  const char* bytes = value.empty() ? "" : value.data();
  if (statement_ != nullptr)
    sqlite3_bind_blob64(statement_, ++bound_, bytes, value.size(), SQLITE_STATIC);
  return *this;
}

Query& Query::null() {
  if (statement_ != nullptr) sqlite3_bind_null(statement_, ++bound_);
  return *this;
}

Result<bool> Query::next() {
  const int code = statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return connection_->last_error();
}

Result<void> Query::run() {
  const int code = statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_);
  if (code != SQLITE_DONE && code != SQLITE_ROW) return connection_->last_error();
  reset();
  return {};
}

void Query::reset() {
  if (statement_ != nullptr) sqlite3_reset(statement_);
  bound_ = 0;
}

std::int64_t Query::integer_at(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double Query::real_at(int column) const {
  return sqlite3_column_double(statement_, column);
}

std::string_view Query::bytes_at(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

bool Query::null_at(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

void Connection::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

void Connection::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, Mode mode) {
  std::unique_ptr<Connection> connection(new Connection(path));
  const int flags =
      mode == Mode::kReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  connection->handle_.reset(handle);
  if (handle == nullptr)
    return Error{ErrorCode::kExhausted, "database " + path + ": out of memory"};
  sqlite3_extended_result_codes(handle, 1);
  if (code != SQLITE_OK) return connection->last_error();
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  return connection;
}

Connection::~Connection() = default;

Result<void> Connection::execute(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return last_error();
  return {};
}

Query Connection::query(const char* sql) {
  auto& statement = statements_[sql];
  if (!statement) {
    sqlite3_stmt* prepared = nullptr;
    sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
    statement.reset(prepared);
  }
  return {*this, statement.get()};
}

Result<std::int64_t> Connection::number(const char* sql) {
  Query one = query(sql);
  const Result<bool> row = one.next();
  if (!row) return row.error();
  return *row ? one.integer_at(0) : std::int64_t{0};
}

std::int64_t Connection::last_row() const {
  return sqlite3_last_insert_rowid(handle_.get());
}

std::int64_t Connection::changed_rows() const {
  return sqlite3_changes64(handle_.get());
}

bool Connection::in_transaction() const {
  return sqlite3_get_autocommit(handle_.get()) == 0;
}

void Connection::roll_back() {
  if (in_transaction()) sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Connection::copy_log() {
  sqlite3_wal_checkpoint_v2(handle_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

void Connection::watch_log(std::function<bool(int pages)> grown) {
  grown_ = std::move(grown);
  const auto hook = [](void* self, sqlite3*, const char*, int pages) {
    auto& connection = *static_cast<Connection*>(self);
    if (!connection.grown_(pages)) connection.copy_log();
    return SQLITE_OK;  // the commit succeeded, whatever becomes of the copy
  };
  sqlite3_wal_hook(handle_.get(), hook, this);
}

void Connection::leave_file_untouched(bool untouched) {
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, untouched ? 1 : 0, nullptr);
}

Error Connection::last_error() {
  const std::string where = "database " + path_;
  const std::string text = sqlite3_errmsg(handle_.get());
  const int extended = sqlite3_extended_errcode(handle_.get());
  const int primary = extended & 0xFF;
  switch (primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return conflict(where +
                      " is in use by another program: stop the other daemon, or whatever has the "
                      "file open for writing");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return corrupt(text);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_NOMEM:
      return file_error(where, primary, system_error_of(handle_.get()), text);
    default:
      return {ErrorCode::kInternal, where + ": " + text};
  }
}

Error Connection::corrupt(std::string_view what) const {
  return {ErrorCode::kCorrupt,
          "database " + path_ + " is damaged (" + std::string(what) +
              "): it is left as it is; restore a backup of it, or move it away to begin with an "
              "empty one"};
}

}  // namespace tutti
