#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/lifecycle/ledger.h"
#include "core/plan/reason.h"

namespace tutti {

// The node that lacks least of what is asked for: the one to name in a reason. Null: none could
// ever run it, or none of those is up. `room` is how many tasks more each node may get of its job;
// empty: no such limits.
const Node* best_node(const Ledger& ledger, const Request& request,
                      std::span<const std::uint32_t> room = {});

// What the node lacks at present, one reason each.
void add_lacks(const Node& node, const Request& request, std::vector<Reason>& reasons);

// The first label that no node has, as users write alternatives; empty: each is had by some node.
std::string unknown_label(const std::vector<Node>& nodes, const Request& request);

// What of a request that fits no node is too much for those to which it may go, such as "5 CPUs
// (the largest node has 4)".
std::string lacking_everywhere(const std::vector<Node>& nodes, const Request& request);

// Why the nodes that could run it do not, or what none of them has, in words.
std::string closed_nodes(const Ledger& ledger, const Request& request);

}  // namespace tutti
