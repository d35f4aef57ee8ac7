#pragma once

#include <vector>

#include "base/result.h"
#include "control/history.h"
#include "store/job_rows.h"
#include "store/sqlite.h"

namespace tutti {

JobSummary summary_of(StoredJob job);

// The jobs that pass the filter, newest first. Reads an index for each way of filtering, so that a
// page costs the same whatever the number of jobs. To be called within a read transaction.
Result<std::vector<JobSummary>> list_jobs(Connection& connection, const JobFilter& filter);

}  // namespace tutti
