#pragma once

#include <cstdint>

#include "core/lifecycle/event.h"
#include "core/lifecycle/ledger.h"
#include "core/plan/reason.h"

namespace tutti {

// Why a live job's task waits: every blocking cause, what would start it now, and when it is
// expected to start. `task` must be one of the job's.
Explanation explain(const Ledger& ledger, JobId job, std::uint32_t task, TimePoint now);

// The same for a job that is not submitted, as if it were the newest. The ledger takes the job in
// and gives it up again: afterwards it is as it was.
Explanation explain_submission(Ledger& ledger, const JobFacts& facts, TimePoint now);

}  // namespace tutti
