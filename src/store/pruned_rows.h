#pragma once

#include <cstdint>

#include "base/result.h"
#include "core/model/ids.h"
#include "store/sqlite.h"

namespace tutti {

// How many rows one transaction may still delete, so that no round waits long for it.
struct RowBudget {
  std::int64_t rows = 4000;   // of tasks and attempts
  std::int64_t chunks = 200;  // of lines, of up to 64 KiB
};

// Deletes what the tables say of a job that has no row in `jobs` any more, within the caller's
// transaction and the budget. True: something is left. Its spec goes last: by it those jobs are
// found of which a prune was interrupted.
Result<bool> delete_rows_of(Connection& connection, JobId job, RowBudget& budget);

}  // namespace tutti
