#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/views.h"

namespace tutti {

// How far a copy is: "61 MB of 100 MB, 84 MB/s, 1s left", or without what is not known.
std::string transfer_text(const TransferView& transfer);

// One line, `width` columns or less, about what is being copied for a job; several machines are
// added up. Files to machines go before results from them. Empty: nothing is copied.
// "  copying to gpu01  [######----]  61 MB of 100 MB, 84 MB/s, 1s left".
std::string transfer_line(const std::vector<NodeView>& nodes, std::uint64_t job, int width);

}  // namespace tutti
