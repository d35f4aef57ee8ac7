// The placements that give a job as many devices on each of its nodes: see placement.h.
#include <algorithm>

#include "core/elastic/placement.h"
#include "core/elastic/seats.h"

namespace tutti {
namespace {

std::uint32_t per_node(const Shape& shape) {
  return shape.devices / shape.nodes;
}

// Who sits where while places are given out.
class SeatBoard {
 public:
  SeatBoard(const std::vector<Pool>& pools, const std::vector<PlacementWish>& wishes)
      : wishes_(wishes), seats_(pools), placements_(wishes.size()), newcomer_(wishes.size()) {
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      if (!wishes[i].stays()) continue;
      placements_[i] = wishes[i].before;
      seats_.take(shape(i), seat_of(i));
    }
  }

  std::vector<Placement> first_come() {
    std::vector<std::uint32_t> blocked;
    for (const std::size_t i : newcomers()) {
      const std::uint32_t pool = shape(i).pool;
      if (std::find(blocked.begin(), blocked.end(), pool) != blocked.end()) continue;
      const auto seat = seats_.take_emptiest(shape(i));
      if (!seat) blocked.push_back(pool);
      if (seat) sit(i, *seat);
    }
    return std::move(placements_);
  }

  std::vector<Placement> packed() {
    std::vector<std::size_t> starts = newcomers();
    std::stable_sort(starts.begin(), starts.end(),
                     [&](std::size_t a, std::size_t b) { return need(a) > need(b); });
    for (std::size_t k = 0; k < starts.size(); ++k) {
      const std::size_t i = starts[k];
      auto seat = seats_.take_fullest(shape(i));
      std::vector<std::size_t> moved;
      if (!seat && make_room(shape(i), moved)) seat = seats_.take_fullest(shape(i));
      if (seat) sit(i, *seat);
      // What moved is smaller: behind all others of its size, it finds a gap or makes one.
      for (const std::size_t m : moved)
        starts.insert(
            std::find_if(starts.begin() + static_cast<std::ptrdiff_t>(k) + 1, starts.end(),
                         [&](std::size_t other) { return need(other) < need(m); }),
            m);
    }
    return std::move(placements_);
  }

 private:
  const Shape& shape(std::size_t i) const { return *wishes_[i].shape; }
  std::uint32_t need(std::size_t i) const { return per_node(shape(i)); }

  std::vector<std::size_t> newcomers() const {
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < wishes_.size(); ++i)
      if (wishes_[i].shape && placements_[i].nodes.empty()) starts.push_back(i);
    return starts;
  }

  Seat seat_of(std::size_t i) const {
    Seat seat = placements_[i].nodes;
    seat.erase(std::unique(seat.begin(), seat.end()), seat.end());
    return seat;
  }

  void sit(std::size_t i, const Seat& seat) {
    placements_[i].pool = shape(i).pool;
    for (const std::uint32_t node : seat)
      placements_[i].nodes.insert(placements_[i].nodes.end(), need(i), node);
    newcomer_[i] = true;
  }

  // Jobs that could leave the node to one that needs so much of it.
  std::vector<std::size_t> smaller_on(std::uint32_t pool, std::uint32_t node,
                                      std::uint32_t needed) const {
    std::vector<std::size_t> smaller;
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      const std::vector<std::uint32_t>& nodes = placements_[i].nodes;
      if (nodes.empty() || wishes_[i].pinned || newcomer_[i]) continue;
      if (shape(i).pool != pool || need(i) >= needed) continue;
      if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) smaller.push_back(i);
    }
    return smaller;
  }

  bool make_room(const Shape& wanted, std::vector<std::size_t>& moved) {
    struct Gap {
      std::uint32_t node = 0;
      std::uint32_t missing = 0;  // devices that others would have to leave
    };
    const std::uint32_t needed = per_node(wanted);
    std::vector<Gap> gaps;
    for (std::uint32_t node = 0; node < seats_.nodes(wanted.pool); ++node) {
      const std::uint32_t free = seats_.free_on(wanted.pool, node);
      std::uint32_t movable = 0;
      if (free < needed)
        for (const std::size_t i : smaller_on(wanted.pool, node, needed)) movable += need(i);
      if (free + movable >= needed) gaps.push_back({node, needed - std::min(needed, free)});
    }
    if (gaps.size() < wanted.nodes) return false;
    std::stable_sort(gaps.begin(), gaps.end(),
                     [](const Gap& a, const Gap& b) { return a.missing < b.missing; });
    gaps.resize(wanted.nodes);
    for (const Gap& gap : gaps) {
      for (const std::size_t i : smaller_on(wanted.pool, gap.node, needed)) {
        if (seats_.free_on(wanted.pool, gap.node) >= needed) break;
        seats_.give_back(shape(i), seat_of(i));
        placements_[i] = Placement();
        moved.push_back(i);
      }
    }
    return true;
  }

  const std::vector<PlacementWish>& wishes_;
  Seats seats_;
  std::vector<Placement> placements_;
  std::vector<bool> newcomer_;  // got its place here and now
};

}  // namespace

std::vector<Placement> place_first_come(const std::vector<Pool>& pools,
                                        const std::vector<PlacementWish>& wishes) {
  return SeatBoard(pools, wishes).first_come();
}

std::vector<Placement> place_packed(const std::vector<Pool>& pools,
                                    const std::vector<PlacementWish>& wishes) {
  return SeatBoard(pools, wishes).packed();
}

}  // namespace tutti
