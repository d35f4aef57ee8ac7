#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "store/sqlite.h"

namespace tutti {

// Version of the whole database: tables, record blobs and journal. Stored as PRAGMA user_version.
// docs/formats/journal.md lists all versions, and a test compares.
inline constexpr int kFormatVersion = 7;

// The statements that make an empty database of kFormatVersion.
extern const char* const kSchemaSql;

// One step of the way from an older format: from version `from` to `from + 1`.
struct Migration {
  int from = 0;
  const char* sql = nullptr;
};

// Takes a database of version `from` to version `to` by the steps, within the caller's transaction.
Result<void> migrate(Connection& connection, std::span<const Migration> steps, int from, int to);

// Opens the database for its one writer: creates it (mode 0600) where there is none, takes it to
// kFormatVersion where it is older, and refuses a newer, foreign or damaged one without changing
// it.
Result<std::unique_ptr<Connection>> open_writer(const std::string& path);

// Whether open_writer() would take the database, as far as can be told without changing it. Where
// there is none yet, it would make one.
Result<void> check_database(const std::string& path);

// Opens an existing database of kFormatVersion for reading.
Result<std::unique_ptr<Connection>> open_reader(const std::string& path);

}  // namespace tutti
