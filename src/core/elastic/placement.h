#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/elastic/view.h"

namespace tutti {

// The nodes of a pool that a job has devices on: the node of each device, those of a node together.
struct Placement {
  std::uint32_t pool = 0;
  std::vector<std::uint32_t> nodes;
  bool operator==(const Placement&) const = default;
};

// What a job is to get, and what it has.
struct PlacementWish {
  std::optional<Shape> shape;  // none: nothing
  Placement before;            // empty: nothing
};

// Gives every job its nodes: whole ones, and parts of one node. Who keeps its shape keeps its nodes
// unless somebody else cannot be placed otherwise. Shapes are powers of two within a node, or whole
// nodes, so that all of them fit if their devices do; one that does not fit gets none.
std::vector<Placement> place_compact(const std::vector<Pool>& pools,
                                     const std::vector<PlacementWish>& wishes);

// Gives every job as many devices as it wishes on the nodes that have most of them free, in this
// order. Who keeps its number of devices keeps its nodes.
std::vector<Placement> place_on_emptiest(const std::vector<Pool>& pools,
                                         const std::vector<PlacementWish>& wishes,
                                         const std::vector<std::size_t>& order);

}  // namespace tutti
