#pragma once

#include "base/result.h"
#include "control/store.h"
#include "store/sqlite.h"

namespace tutti {

// Reads what the ledger is built from. Costs time for unfinished jobs and their touched tasks only.
Result<Recovered> read_recovered(Connection& connection);

}  // namespace tutti
