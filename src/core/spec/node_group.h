#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "core/model/node.h"

namespace tutti {

// Nodes that are alike, of a cluster that is only thought of. Zero CPUs and no memory: what is
// usual beside its GPUs.
struct NodeGroup {
  std::string name = "node";  // they are called node-1, node-2, …
  std::uint32_t count = 1;
  MilliCpu cpus;
  MiB memory;
  std::uint32_t gpus = 0;  // of each node
  std::string type;        // of its GPUs
  MiB gpu_memory;          // of each GPU; zero: what the type says, or 80 GiB
  std::vector<std::string> labels;
  bool operator==(const NodeGroup&) const = default;
};

inline constexpr std::uint32_t kMaxSimulatedNodes = 100'000;
inline constexpr std::uint32_t kMaxGpusPerNode = 64;

// "2xA100:8" (two nodes with eight A100 each), "4xcpu:64" (four nodes with 64 cores and no GPU),
// several with commas.
Result<std::vector<NodeGroup>> parse_node_groups(std::string_view text);

// The nodes of the groups, in their order, with everything filled in. Names that occur in several
// groups are numbered through.
std::vector<Node> nodes_of(const std::vector<NodeGroup>& groups);

}  // namespace tutti
