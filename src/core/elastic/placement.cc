#include "core/elastic/placement.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace tutti {
namespace {

// The nodes of one pool and who is on them.
class PoolBoard {
 public:
  explicit PoolBoard(const Pool& pool)
      : per_node_(pool.per_node), free_(pool.nodes, pool.per_node) {}

  std::uint32_t per_node() const { return per_node_; }
  const std::vector<std::uint32_t>& free() const { return free_; }

  bool can_take(const std::vector<std::uint32_t>& nodes) const {
    std::vector<std::uint32_t> wanted(free_.size(), 0);
    for (const std::uint32_t node : nodes) {
      if (node >= free_.size() || ++wanted[node] > free_[node]) return false;
    }
    return true;
  }
  void take(const std::vector<std::uint32_t>& nodes) {
    for (const std::uint32_t node : nodes) --free_[node];
  }
  void give(const std::vector<std::uint32_t>& nodes) {
    for (const std::uint32_t node : nodes) ++free_[node];
  }

  // Whole nodes for a job that needs them, or the fullest node that has room; empty: no room.
  std::vector<std::uint32_t> find(const Shape& shape) const {
    std::vector<std::uint32_t> nodes;
    if (shape.nodes > 1 || shape.devices == per_node_) {
      for (std::uint32_t node = 0; node < free_.size() && nodes.size() < shape.devices; ++node) {
        if (free_[node] == per_node_) nodes.insert(nodes.end(), per_node_, node);
      }
      if (nodes.size() != shape.devices) nodes.clear();
      return nodes;
    }
    std::optional<std::uint32_t> best;
    for (std::uint32_t node = 0; node < free_.size(); ++node) {
      if (free_[node] >= shape.devices && (!best || free_[node] < free_[*best])) best = node;
    }
    if (best) nodes.assign(shape.devices, *best);
    return nodes;
  }

 private:
  std::uint32_t per_node_;
  std::vector<std::uint32_t> free_;
};

// Places the jobs of one pool, the largest first.
class CompactPlacer {
 public:
  CompactPlacer(const Pool& pool, std::uint32_t number, const std::vector<PlacementWish>& wishes,
                std::vector<Placement>& placements)
      : pool_(pool), number_(number), wishes_(wishes), placements_(placements), board_(pool) {
    for (std::size_t j = 0; j < wishes.size(); ++j) {
      if (wishes[j].shape && wishes[j].shape->pool == number) jobs_.push_back(j);
    }
    std::stable_sort(jobs_.begin(), jobs_.end(), [&](std::size_t a, std::size_t b) {
      return wishes[a].shape->devices > wishes[b].shape->devices;
    });
  }

  void run() {
    for (const std::size_t j : jobs_) {
      const Placement& before = wishes_[j].before;
      if (before.pool == number_ && before.nodes.size() == wishes_[j].shape->devices &&
          is_compact(before, *wishes_[j].shape) && board_.can_take(before.nodes))
        put(j, before.nodes);
    }
    for (const std::size_t j : jobs_) {
      if (placements_[j].nodes.empty() && !place(j)) return place_anew();
    }
  }

 private:
  static bool is_compact(const Placement& placement, const Shape& shape) {
    std::vector<std::uint32_t> nodes = placement.nodes;
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes.size() == shape.nodes;
  }

  void put(std::size_t j, std::vector<std::uint32_t> nodes) {
    board_.take(nodes);
    placements_[j] = {number_, std::move(nodes)};
  }

  bool place(std::size_t j) {
    const Shape& shape = *wishes_[j].shape;
    std::vector<std::uint32_t> nodes = board_.find(shape);
    if (nodes.empty() && make_room(shape)) nodes = board_.find(shape);
    if (nodes.empty()) return false;
    put(j, std::move(nodes));
    return true;
  }

  // Empties the nodes that are used least by moving their jobs, all of them smaller, elsewhere.
  bool make_room(const Shape& shape) {
    if (shape.nodes == 1 && shape.devices < pool_.per_node) return false;
    std::vector<std::uint32_t> partial;
    std::uint32_t whole = 0;
    for (std::uint32_t node = 0; node < pool_.nodes; ++node) {
      if (board_.free()[node] == pool_.per_node) ++whole;
      if (board_.free()[node] > 0 && board_.free()[node] < pool_.per_node) partial.push_back(node);
    }
    std::stable_sort(partial.begin(), partial.end(), [&](std::uint32_t a, std::uint32_t b) {
      return board_.free()[a] > board_.free()[b];
    });
    const std::uint32_t missing = shape.devices / pool_.per_node - whole;
    if (missing > partial.size()) return false;
    partial.resize(missing);
    std::vector<std::size_t> moved;
    for (const std::size_t other : jobs_) {
      const std::vector<std::uint32_t>& nodes = placements_[other].nodes;
      if (nodes.empty()) continue;
      if (std::find(partial.begin(), partial.end(), nodes[0]) != partial.end())
        moved.push_back(other);
    }
    for (const std::size_t other : moved) board_.give(placements_[other].nodes);
    std::vector<std::uint32_t> kept;
    for (const std::uint32_t node : partial) kept.insert(kept.end(), pool_.per_node, node);
    board_.take(kept);
    bool all = true;
    for (const std::size_t other : moved) {
      const std::vector<std::uint32_t> nodes = board_.find(*wishes_[other].shape);
      placements_[other].nodes.clear();
      all = all && !nodes.empty();
      if (!nodes.empty()) put(other, nodes);
    }
    board_.give(kept);
    return all;
  }

  // Nobody keeps its nodes for sure: powers of two, the largest first, always fit.
  void place_anew() {
    board_ = PoolBoard(pool_);
    for (const std::size_t j : jobs_) {
      placements_[j].nodes.clear();
      std::vector<std::uint32_t> nodes = wishes_[j].before.nodes;
      const bool same = wishes_[j].before.pool == number_ &&
                        nodes.size() == wishes_[j].shape->devices &&
                        is_compact(wishes_[j].before, *wishes_[j].shape);
      if (!same || !board_.can_take(nodes)) nodes = board_.find(*wishes_[j].shape);
      if (!nodes.empty()) put(j, std::move(nodes));
    }
    // Those that wished to stay may have left holes: then without wishes.
    const bool all = std::all_of(jobs_.begin(), jobs_.end(),
                                 [&](std::size_t j) { return !placements_[j].nodes.empty(); });
    if (all) return;
    board_ = PoolBoard(pool_);
    for (const std::size_t j : jobs_) {
      placements_[j].nodes.clear();
      std::vector<std::uint32_t> nodes = board_.find(*wishes_[j].shape);
      if (!nodes.empty()) put(j, std::move(nodes));
    }
  }

  const Pool& pool_;
  std::uint32_t number_;
  const std::vector<PlacementWish>& wishes_;
  std::vector<Placement>& placements_;
  PoolBoard board_;
  std::vector<std::size_t> jobs_;
};

}  // namespace

bool PlacementWish::stays() const {
  return shape && before.pool == shape->pool && before.nodes.size() == shape->devices;
}

std::vector<Placement> place(Placing placing, const ElasticSnapshot& snapshot,
                             const Choices& choices, const std::vector<Placement>& before,
                             std::vector<std::size_t> order) {
  std::vector<PlacementWish> wishes;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    std::optional<Shape> shape;
    if (choices[i]) shape = snapshot.jobs[i].options.at(*choices[i]).shape;
    wishes.push_back({shape, before[i], snapshot.jobs[i].starting});
  }
  if (placing == Placing::kCompact) return place_compact(snapshot.pools, wishes);
  if (placing == Placing::kFirstCome) return place_first_come(snapshot.pools, wishes);
  if (placing == Placing::kPacked) return place_packed(snapshot.pools, wishes);
  if (order.empty()) {
    order.resize(wishes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return wishes[a].shape.value_or(Shape()).devices > wishes[b].shape.value_or(Shape()).devices;
    });
  }
  return place_on_emptiest(snapshot.pools, wishes, order);
}

std::vector<Placement> place_compact(const std::vector<Pool>& pools,
                                     const std::vector<PlacementWish>& wishes) {
  std::vector<Placement> placements(wishes.size());
  for (std::uint32_t p = 0; p < pools.size(); ++p)
    CompactPlacer(pools[p], p, wishes, placements).run();
  return placements;
}

std::vector<Placement> place_on_emptiest(const std::vector<Pool>& pools,
                                         const std::vector<PlacementWish>& wishes,
                                         const std::vector<std::size_t>& order) {
  std::vector<Placement> placements(wishes.size());
  std::vector<std::vector<std::uint32_t>> free;
  for (const Pool& pool : pools) free.emplace_back(pool.nodes, pool.per_node);
  for (std::size_t j = 0; j < wishes.size(); ++j) {
    const PlacementWish& wish = wishes[j];
    if (!wish.stays()) continue;
    placements[j] = wish.before;
    for (const std::uint32_t node : wish.before.nodes) --free[wish.before.pool][node];
  }
  for (const std::size_t j : order) {
    const PlacementWish& wish = wishes[j];
    if (!wish.shape || !placements[j].nodes.empty()) continue;
    std::vector<std::uint32_t>& room = free[wish.shape->pool];
    placements[j].pool = wish.shape->pool;
    for (std::uint32_t needed = wish.shape->devices; needed > 0;) {
      const auto most = std::max_element(room.begin(), room.end());
      TUTTI_CHECK(most != room.end() && *most > 0);
      const std::uint32_t taken = std::min(*most, needed);
      placements[j].nodes.insert(placements[j].nodes.end(), taken,
                                 static_cast<std::uint32_t>(most - room.begin()));
      *most -= taken;
      needed -= taken;
    }
  }
  return placements;
}

}  // namespace tutti
