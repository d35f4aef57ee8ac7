#pragma once

#include <string>
#include <vector>

#include "core/lifecycle/ledger.h"

namespace tutti {

// Why no node could ever run this request, for the user; empty when one could. Without any node
// nothing is known to be impossible.
std::string impossible(const Ledger& ledger, const Request& request);

// Why the ranks could never run together, for the user; empty when they could.
std::string impossible_gang(const Ledger& ledger, const std::vector<RankGroup>& ranks);

// Why no device suffices for what was measured of the kind, for the user; empty when one does.
std::string impossible_kind(const Ledger& ledger, const Request& request, const std::string& kind);

}  // namespace tutti
