#pragma once

#include "core/lifecycle/ledger.h"
#include "core/plan/reason.h"
#include "core/policy/remedies.h"

namespace tutti {

// Why a task waits that depends on nothing any more and is no rank of a gang: what it lacks or who
// comes first, what would start it, and when that is expected.
void explain_ready(const Waiting& waiting, const Job& job, Explanation& answer);

// The job's configurations, and the one that an allocation is of; null: none.
void add_configurations(const Ledger& ledger, const Job& job, const Allocation* taken,
                        Explanation& answer);

}  // namespace tutti
