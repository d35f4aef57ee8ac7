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

// Why no node could ever run this request, for the user; empty when one could. Without any node
// nothing is known to be impossible.
std::string impossible(const Ledger& ledger, const Request& request);

// Why no device suffices for what was measured of the kind, for the user; empty when one does.
std::string impossible_kind(const Ledger& ledger, const Request& request, const std::string& kind);

}  // namespace tutti
