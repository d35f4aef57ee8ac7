#include "core/elastic/placement.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tutti {
namespace {

const std::vector<Pool> kPools = {{"t4", 4, 4}, {"a100", 2, 8}};

using Nodes = std::vector<std::uint32_t>;

PlacementWish wish(std::uint32_t pool, std::uint32_t devices, Nodes before = {}) {
  const std::uint32_t per_node = kPools[pool].per_node;
  return {Shape{pool, devices <= per_node ? 1 : devices / per_node, devices},
          {pool, std::move(before)}};
}

TEST(PlaceCompact, fills_the_fullest_node_that_has_room) {
  const auto placed = place_compact(kPools, {wish(0, 2), wish(0, 1), wish(0, 1)});
  EXPECT_EQ(placed[0].nodes, (Nodes{0, 0}));
  EXPECT_EQ(placed[1].nodes, Nodes{0});
  EXPECT_EQ(placed[2].nodes, Nodes{0});
}

TEST(PlaceCompact, keeps_who_keeps_its_shape_where_it_is) {
  const auto placed =
      place_compact(kPools, {wish(0, 1, {3}), wish(0, 4), wish(1, 8, {1, 1, 1, 1, 1, 1, 1, 1})});
  EXPECT_EQ(placed[0].nodes, Nodes{3});
  EXPECT_EQ(placed[1].nodes, (Nodes{0, 0, 0, 0}));
  EXPECT_EQ(placed[2].nodes, Nodes(8, 1));
}

TEST(PlaceCompact, moves_small_ones_together_for_whole_nodes) {
  const auto placed =
      place_compact(kPools, {wish(0, 1, {0}), wish(0, 1, {1}), wish(0, 1, {2}), wish(0, 12)});
  EXPECT_EQ(placed[3].nodes.size(), 12u);
  EXPECT_EQ(placed[0].nodes, placed[1].nodes);
  EXPECT_EQ(placed[1].nodes, placed[2].nodes);
}

// Powers of two and whole nodes fit whenever their devices do, wherever they were before.
TEST(PlaceCompact, places_all_that_fit_by_number) {
  std::mt19937 random(7);
  std::vector<PlacementWish> wishes;
  for (int round = 0; round < 500; ++round) {
    std::vector<PlacementWish> next;
    std::vector<std::uint32_t> left = {16, 16};
    for (int i = 0; i < 12; ++i) {
      const std::uint32_t pool = random() % 2;
      const std::uint32_t sizes[] = {1, 2, 4, pool == 0 ? 8u : 8u, pool == 0 ? 12u : 16u};
      const std::uint32_t devices = sizes[random() % 5];
      if (devices > left[pool]) continue;
      left[pool] -= devices;
      next.push_back(wish(pool, devices));
      if (next.size() <= wishes.size()) next.back().before = wishes[next.size() - 1].before;
    }
    const auto placed = place_compact(kPools, next);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> used;
    for (std::size_t j = 0; j < next.size(); ++j) {
      ASSERT_EQ(placed[j].nodes.size(), next[j].shape->devices);
      for (const std::uint32_t node : placed[j].nodes) ++used[{placed[j].pool, node}];
      next[j].before = placed[j];
    }
    for (const auto& [where, count] : used) ASSERT_LE(count, kPools[where.first].per_node);
    wishes = std::move(next);
  }
}

TEST(PlaceOnEmptiest, takes_the_nodes_with_most_room_in_the_order_given) {
  const auto placed = place_on_emptiest(kPools, {wish(0, 6), wish(0, 3)}, {1, 0});
  EXPECT_EQ(placed[1].nodes, (Nodes{0, 0, 0}));
  EXPECT_EQ(placed[0].nodes, (Nodes{1, 1, 1, 1, 2, 2}));
}

TEST(PlaceOnEmptiest, leaves_those_with_the_same_number_where_they_are) {
  const auto placed = place_on_emptiest(kPools, {wish(0, 2, {3, 3}), wish(0, 4)}, {0, 1});
  EXPECT_EQ(placed[0].nodes, (Nodes{3, 3}));
  EXPECT_EQ(placed[1].nodes, (Nodes{0, 0, 0, 0}));
}

}  // namespace
}  // namespace tutti
