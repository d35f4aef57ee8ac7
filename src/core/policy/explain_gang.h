#pragma once

#include "core/lifecycle/ledger.h"
#include "core/plan/reason.h"

namespace tutti {

// Why a waiting rank of a gang waits, what would start it, and when that is expected.
void explain_rank(const Ledger& ledger, const Job& job, TimePoint now, Explanation& answer);

}  // namespace tutti
