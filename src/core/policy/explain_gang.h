#pragma once

#include "core/lifecycle/ledger.h"
#include "core/plan/reason.h"

namespace tutti {

// Why a waiting rank of a gang waits, what would start it, and when that is expected.
void explain_rank(const Ledger& ledger, const Job& job, TimePoint now, Explanation& answer);

// Why the ranks could never run together, for the user; empty when they could.
std::string impossible_gang(const Ledger& ledger, const std::vector<RankGroup>& ranks);

}  // namespace tutti
