#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/elastic/placement.h"

namespace tutti {
namespace {

using Nodes = std::vector<std::uint32_t>;

PlacementWish over(std::uint32_t nodes, std::uint32_t devices, Nodes before = {}) {
  return {Shape{0, nodes, devices}, Placement{0, std::move(before)}};
}

TEST(PlaceFirstCome, what_does_not_fit_blocks_its_pool) {
  const auto placed =
      place_first_come({{"a", 2, 4}}, {over(1, 1), over(1, 1), over(1, 4), over(1, 1)});
  EXPECT_EQ(placed[0].nodes, (Nodes{0}));
  EXPECT_EQ(placed[1].nodes, (Nodes{1}));
  EXPECT_THAT(placed[2].nodes, testing::IsEmpty());
  EXPECT_THAT(placed[3].nodes, testing::IsEmpty());
}

TEST(PlacePacked, large_gaps_stay_for_large_jobs) {
  const auto placed = place_packed({{"a", 2, 4}}, {over(1, 1), over(1, 4), over(1, 2)});
  EXPECT_EQ(placed[1].nodes, (Nodes{0, 0, 0, 0}));
  EXPECT_EQ(placed[2].nodes, (Nodes{1, 1}));
  EXPECT_EQ(placed[0].nodes, (Nodes{1}));
}

TEST(PlacePacked, who_stays_keeps_its_nodes) {
  const auto placed = place_packed({{"a", 2, 4}}, {over(1, 2, {1, 1}), over(1, 2)});
  EXPECT_EQ(placed[0].nodes, (Nodes{1, 1}));
  EXPECT_EQ(placed[1].nodes, (Nodes{1, 1}));
}

TEST(PlacePacked, a_smaller_job_makes_room_unless_it_is_pinned) {
  std::vector<PlacementWish> wishes{over(1, 2, {0, 0}), over(1, 2, {1, 1}), over(1, 4)};
  const auto moved = place_packed({{"a", 2, 4}}, wishes);
  EXPECT_EQ(moved[2].nodes, (Nodes{0, 0, 0, 0}));
  EXPECT_EQ(moved[0].nodes, (Nodes{1, 1}));
  wishes[0].pinned = wishes[1].pinned = true;
  EXPECT_THAT(place_packed({{"a", 2, 4}}, wishes)[2].nodes, testing::IsEmpty());
}

TEST(PlacePacked, a_shape_takes_as_much_of_each_node) {
  const auto placed = place_packed({{"a", 3, 4}}, {over(1, 4), over(2, 4)});
  EXPECT_EQ(placed[1].nodes, (Nodes{1, 1, 2, 2}));
}

}  // namespace
}  // namespace tutti
