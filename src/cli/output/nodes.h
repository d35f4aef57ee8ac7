#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "cli/output/screen.h"
#include "client/views.h"

namespace tutti {

// What users see of nodes. All text from outside is made printable.

// The table of `nodes`; with columns for addresses and jobs once there are machines elsewhere.
std::string render_nodes(const std::vector<NodeView>& nodes, const Screen& screen, TimePoint now);

// The block of `nodes show`.
std::string render_node(const NodeView& node, const Screen& screen, TimePoint now);

// "24 cpus, 125 GiB, 2 × A100-80G": what a machine has.
std::string node_size(const NodeView& node);

}  // namespace tutti
