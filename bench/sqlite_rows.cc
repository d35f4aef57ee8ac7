// The physical limit for accepting work durably: SQLite inserting COUNT rows of 200 bytes, 100 in a
// transaction, WAL, synchronous=FULL. Usage: sqlite_rows COUNT FILE. Prints the seconds it took.
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

void run(sqlite3* db, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int count = std::atoi(argv[1]);
  sqlite3* db = nullptr;
  if (sqlite3_open(argv[2], &db) != SQLITE_OK) std::abort();
  run(db, "PRAGMA journal_mode=WAL");
  run(db, "PRAGMA synchronous=FULL");
  run(db, "CREATE TABLE rows(id INTEGER PRIMARY KEY, body BLOB)");
  sqlite3_stmt* insert = nullptr;
  sqlite3_prepare_v2(db, "INSERT INTO rows(body) VALUES(?)", -1, &insert, nullptr);
  const std::string body(200, 'x');
  const auto began = std::chrono::steady_clock::now();
  for (int row = 0; row < count; ++row) {
    if (row % 100 == 0) run(db, "BEGIN");
    sqlite3_bind_blob(insert, 1, body.data(), static_cast<int>(body.size()), SQLITE_STATIC);
    if (sqlite3_step(insert) != SQLITE_DONE) std::abort();
    sqlite3_reset(insert);
    if (row % 100 == 99 || row == count - 1) run(db, "COMMIT");
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  sqlite3_finalize(insert);
  sqlite3_close(db);
  std::printf("%.6f\n", took.count());
  return 0;
}
