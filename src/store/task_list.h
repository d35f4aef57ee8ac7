#pragma once

#include <vector>

#include "base/result.h"
#include "control/history.h"
#include "store/sqlite.h"

namespace tutti {

// The tasks of a job that pass the filter, in order. Tasks without a row appear in the job's `rest`
// state. To be called within a read transaction.
Result<std::vector<TaskRow>> list_tasks(Connection& connection, JobId job,
                                        const TaskFilter& filter);

}  // namespace tutti
