#include "core/elastic/node_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/world.h"

namespace tutti {
namespace {

using testing_support::node;
using testing_support::with_gpus;

std::vector<Node> numbered(std::vector<Node> nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    nodes[i].id = NodeId(static_cast<std::uint32_t>(i + 1));
  return nodes;
}

std::vector<Node> two_a_and_a_v() {
  return numbered({with_gpus(node("a1", 8), 4, 40960, "A100"),
                   with_gpus(node("v", 8), 2, 40960, "V100"),
                   with_gpus(node("a2", 8), 4, 40960, "A100")});
}

TEST(NodePools, nodes_with_as_many_devices_of_a_type_are_a_pool) {
  const NodePools pools(two_a_and_a_v(), {});
  ASSERT_EQ(pools.pools().size(), 2u);
  EXPECT_EQ(pools.pools()[0].type, "A100");
  EXPECT_EQ(pools.pools()[0].devices(), 8u);
  EXPECT_EQ(pools.pools()[1].devices(), 2u);
}

TEST(NodePools, a_placement_and_its_shares_are_the_same) {
  const NodePools pools(two_a_and_a_v(), {});
  const Placement placement{0, {1, 1, 1, 0}};
  const std::vector<NodeShare> shares{{NodeId(3), 3}, {NodeId(1), 1}};
  EXPECT_EQ(pools.shares_of(placement), shares);
  EXPECT_EQ(pools.placement_of(shares), placement);
}

TEST(NodePools, nodes_that_take_no_work_or_have_other_work_are_in_none) {
  std::vector<Node> nodes = two_a_and_a_v();
  nodes[0].state = Node::State::kDraining;
  nodes[1].devices[0].holders = 1;
  nodes[2].devices[0].holders = 1;
  const NodePools pools(nodes, {{NodeId(3), 1}});
  ASSERT_EQ(pools.pools().size(), 1u);
  EXPECT_EQ(pools.pools()[0].nodes, 1u);
  EXPECT_TRUE(pools.has(std::vector<NodeShare>{{NodeId(3), 1}}));
  EXPECT_FALSE(pools.has(std::vector<NodeShare>{{NodeId(3), 1}, {NodeId(1), 1}}));
}

TEST(NodePools, sick_devices_and_those_that_others_use_are_in_none) {
  std::vector<Node> nodes = two_a_and_a_v();
  nodes[0].devices[3].healthy = false;
  nodes[1].devices[1].foreign = MiB(500);
  const NodePools pools(nodes, {});
  ASSERT_EQ(pools.pools().size(), 1u);
  EXPECT_EQ(pools.pools()[0].nodes, 1u);
}

}  // namespace
}  // namespace tutti
