#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/elastic/placement.h"
#include "core/elastic/view.h"
#include "core/lifecycle/ledger.h"
#include "core/model/ids.h"
#include "core/model/node.h"

namespace tutti {

// So many devices of a node, for a job that has others elsewhere too.
struct NodeShare {
  NodeId node;
  std::uint32_t devices = 0;
  bool operator==(const NodeShare&) const = default;
};

// The nodes of a cluster as pools of like ones: those with as many devices of the same type. Nodes
// that take no work, and those with devices that are not for elastic jobs now, are left out. Pools
// and their nodes are in the order of the nodes. A value.
class NodePools {
 public:
  // `elastic_use`: devices of each node that elastic jobs have.
  NodePools(std::span<const Node> nodes, const std::map<NodeId, std::uint32_t>& elastic_use);

  const std::vector<Pool>& pools() const { return pools_; }
  // What a placement means on the nodes.
  std::vector<NodeShare> shares_of(const Placement& placement) const;
  // Whether all of these are in pools.
  bool has(std::span<const NodeShare> shares) const;
  // The placement that these are; all of them are in pools.
  Placement placement_of(std::span<const NodeShare> shares) const;

 private:
  std::vector<Pool> pools_;
  std::vector<std::vector<NodeId>> members_;
  std::map<NodeId, std::pair<std::uint32_t, std::uint32_t>> places_;  // pool, position in it
};

// What the running ranks of a job have.
std::vector<NodeShare> shares_of(const Ledger& ledger, const Job& job);

}  // namespace tutti
