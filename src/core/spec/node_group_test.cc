#include "core/spec/node_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti {
namespace {

using testing::HasSubstr;

TEST(node_group, two_nodes_with_eight_gpus_each) {
  const auto groups = parse_node_groups("2xA100:8");
  ASSERT_TRUE(groups.has_value());
  const std::vector<Node> nodes = nodes_of(*groups);
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].name, "added-1");
  EXPECT_EQ(nodes[1].name, "added-2");
  EXPECT_EQ(nodes[1].devices.size(), 8u);
  EXPECT_EQ(nodes[1].devices[0].type, "A100");
  EXPECT_EQ(nodes[1].cpus, MilliCpu(96'000));
  EXPECT_NE(nodes[0].devices[0].uuid, nodes[1].devices[0].uuid);
}

TEST(node_group, the_type_may_tell_the_memory) {
  EXPECT_EQ(nodes_of(*parse_node_groups("1xA100-40G:1"))[0].devices[0].memory, MiB(40 * 1024));
  EXPECT_EQ(nodes_of(*parse_node_groups("1xRTX-4090:1"))[0].devices[0].memory, MiB(80 * 1024));
}

TEST(node_group, nodes_without_gpus_are_called_cpu) {
  const std::vector<Node> nodes = nodes_of(*parse_node_groups("3xcpu:64"));
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0].cpus, MilliCpu(64'000));
  EXPECT_TRUE(nodes[0].devices.empty());
}

TEST(node_group, several_are_numbered_through) {
  const std::vector<Node> nodes = nodes_of(*parse_node_groups("1xA100:8, 2xV100:4"));
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[2].name, "added-3");
}

TEST(node_group, what_is_no_group_is_refused_with_an_example) {
  for (const char* text : {"", "x", "2", "2xA100", "A100:8", "0xA100:8", "2xA100:0", "-1xA100:8",
                           "2xA 100:8", "2x:8", "2xA100:8,", "2xA100:", "+2xA100:8"}) {
    const auto groups = parse_node_groups(text);
    ASSERT_FALSE(groups.has_value()) << text;
    EXPECT_THAT(groups.error().message, HasSubstr("2xA100:8")) << text;
  }
}

TEST(node_group, what_is_too_large_is_refused_with_the_limit) {
  EXPECT_EQ(parse_node_groups("100001xA100:8").error().message,
            "add-nodes: '100001xA100:8': there are at most 100,000 nodes");
  EXPECT_THAT(parse_node_groups("99999999999999999999xA100:8").error().message,
              HasSubstr("at most 100,000 nodes"));
  for (const char* text : {"1xA100:65", "1xA100:100001"})
    EXPECT_THAT(parse_node_groups(text).error().message, HasSubstr("at most 64 GPUs"));
  EXPECT_THAT(parse_node_groups("1xcpu:100001").error().message, HasSubstr("100,000 cores"));
  EXPECT_TRUE(parse_node_groups("100000xcpu:100000"));
}

}  // namespace
}  // namespace tutti
