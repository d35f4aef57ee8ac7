#include "store/pruned_rows.h"

namespace tutti {
namespace {

// Each deletes rows of job ?1 from the first on: about ?2 of them, and all attempts of a task.
#define TUTTI_DELETE_FIRST(table, place)                                                         \
  "DELETE FROM " table " WHERE job = ?1 AND " place " <= coalesce((SELECT " place " FROM " table \
  " WHERE job = ?1 ORDER BY " place " LIMIT 1 OFFSET ?2), 9223372036854775807)"
constexpr const char* kTasks = TUTTI_DELETE_FIRST("tasks", "idx");
constexpr const char* kAttempts = TUTTI_DELETE_FIRST("earlier_attempts", "idx");
constexpr const char* kLines = TUTTI_DELETE_FIRST("lines", "first");

// True: the budget is used up, and something may be left.
Result<bool> delete_first(Connection& connection, const char* sql, JobId job,
                          std::int64_t& budget) {
  if (budget <= 0) return true;
  Query query = connection.query(sql);
  const auto done = query.integer(static_cast<std::int64_t>(job.value)).integer(budget - 1).run();
  if (!done) return done.error();
  budget -= connection.changed_rows();
  return budget <= 0;
}

}  // namespace

Result<bool> delete_rows_of(Connection& connection, JobId job, RowBudget& budget) {
  for (const char* const sql : {kTasks, kAttempts, kLines}) {
    const auto left =
        delete_first(connection, sql, job, sql == kLines ? budget.chunks : budget.rows);
    if (!left || *left) return left;
  }
  Query spec = connection.query("DELETE FROM specs WHERE job = ?");
  if (auto done = spec.integer(static_cast<std::int64_t>(job.value)).run(); !done)
    return done.error();
  return false;
}

}  // namespace tutti
