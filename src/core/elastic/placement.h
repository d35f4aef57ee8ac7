#pragma once

#include <cstddef>
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
  bool pinned = false;         // it is not to be moved
  // Whether it has as many devices of the pool as it wishes.
  bool stays() const;
};

// In which way jobs are put on nodes.
enum class Placing : std::uint8_t {
  kCompact,    // place_compact()
  kEmptiest,   // place_on_emptiest()
  kFirstCome,  // place_first_come()
  kPacked,     // place_packed()
};

// Where the jobs of a snapshot go that get what was chosen and had what was before. `order`: who
// chooses nodes first, where that matters; empty: those with the most devices.
std::vector<Placement> place(Placing placing, const ElasticSnapshot& snapshot,
                             const Choices& choices, const std::vector<Placement>& before,
                             std::vector<std::size_t> order);

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

// The same number of devices on each node of a shape. Emptiest nodes first, in the order of the
// wishes; what does not fit blocks its pool for those behind it.
std::vector<Placement> place_first_come(const std::vector<Pool>& pools,
                                        const std::vector<PlacementWish>& wishes);

// The same number of devices on each node of a shape. Fullest nodes first, for those first that
// want most of a node; smaller jobs that are not pinned move if that makes room.
std::vector<Placement> place_packed(const std::vector<Pool>& pools,
                                    const std::vector<PlacementWish>& wishes);

}  // namespace tutti
