#include "core/elastic/node_pools.h"

#include <algorithm>

namespace tutti {
namespace {

// Whether all devices of a node are healthy and either free or an elastic job's.
bool is_for_elastic_jobs(const Node& node, std::uint32_t elastic_use) {
  const auto busy = std::count_if(node.devices.begin(), node.devices.end(),
                                  [](const Device& one) { return one.holders > 0; });
  const bool sound = std::all_of(node.devices.begin(), node.devices.end(), [](const Device& one) {
    return one.healthy && one.foreign.value == 0 && one.holders <= 1;
  });
  return node.state == Node::State::kUp && !node.devices.empty() && sound &&
         static_cast<std::uint32_t>(busy) == elastic_use;
}

bool is_like(const Pool& pool, const Node& node) {
  return pool.per_node == node.devices.size() && pool.type == node.devices.front().type;
}

}  // namespace

NodePools::NodePools(std::span<const Node> nodes,
                     const std::map<NodeId, std::uint32_t>& elastic_use) {
  for (const Node& node : nodes) {
    const auto use = elastic_use.find(node.id);
    if (!is_for_elastic_jobs(node, use == elastic_use.end() ? 0 : use->second)) continue;
    const auto like = std::find_if(pools_.begin(), pools_.end(),
                                   [&](const Pool& pool) { return is_like(pool, node); });
    const auto pool = static_cast<std::size_t>(like - pools_.begin());
    if (like == pools_.end()) {
      pools_.push_back(
          {node.devices.front().type, 0, static_cast<std::uint32_t>(node.devices.size())});
      members_.emplace_back();
    }
    places_[node.id] = {static_cast<std::uint32_t>(pool), pools_[pool].nodes++};
    members_[pool].push_back(node.id);
  }
}

std::vector<NodeShare> NodePools::shares_of(const Placement& placement) const {
  std::vector<NodeShare> shares;
  for (const std::uint32_t position : placement.nodes) {
    const NodeId node = members_.at(placement.pool).at(position);
    const auto known = std::find_if(shares.begin(), shares.end(),
                                    [&](const NodeShare& one) { return one.node == node; });
    if (known == shares.end())
      shares.push_back({node, 1});
    else
      ++known->devices;
  }
  return shares;
}

bool NodePools::has(std::span<const NodeShare> shares) const {
  return std::all_of(shares.begin(), shares.end(),
                     [&](const NodeShare& one) { return places_.contains(one.node); });
}

Placement NodePools::placement_of(std::span<const NodeShare> shares) const {
  Placement placement;
  for (const NodeShare& share : shares) {
    const auto& [pool, position] = places_.at(share.node);
    placement.pool = pool;
    placement.nodes.insert(placement.nodes.end(), share.devices, position);
  }
  return placement;
}

std::vector<NodeShare> shares_of(const Ledger& ledger, const Job& job) {
  std::vector<NodeShare> shares;
  for (std::uint32_t rank = 0; rank < job.slots.size(); ++rank) {
    const ActiveAttempt* attempt = ledger.find_active({job.id, rank});
    if (attempt != nullptr)
      shares.push_back({attempt->allocation.node,
                        static_cast<std::uint32_t>(attempt->allocation.devices.size())});
  }
  return shares;
}

}  // namespace tutti
