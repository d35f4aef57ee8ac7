#include "core/elastic/seats.h"

#include <algorithm>

#include "base/check.h"

namespace tutti {

Seats::Seats(const std::vector<Pool>& pools) : pools_(pools) {
  for (const Pool& pool : pools) free_.emplace_back(pool.nodes, pool.per_node);
}

std::optional<Seat> Seats::take_emptiest(const Shape& shape) {
  return take_in_order(shape, true);
}

std::optional<Seat> Seats::take_fullest(const Shape& shape) {
  return take_in_order(shape, false);
}

std::optional<Seat> Seats::take_in_order(const Shape& shape, bool emptiest) {
  const auto& free = free_[shape.pool];
  const std::uint32_t need = shape.devices / shape.nodes;
  Seat seat;
  for (std::uint32_t n = 0; n < free.size(); ++n)
    if (free[n] >= need) seat.push_back(n);
  if (seat.size() < shape.nodes) return std::nullopt;
  std::stable_sort(seat.begin(), seat.end(), [&](std::uint32_t a, std::uint32_t b) {
    return emptiest ? free[a] > free[b] : free[a] < free[b];
  });
  seat.resize(shape.nodes);
  take(shape, seat);
  return seat;
}

void Seats::take(const Shape& shape, const Seat& seat) {
  const std::uint32_t need = shape.devices / shape.nodes;
  for (const std::uint32_t node : seat) {
    TUTTI_CHECK(free_[shape.pool][node] >= need);
    free_[shape.pool][node] -= need;
  }
  used_ += shape.devices;
}

void Seats::give_back(const Shape& shape, const Seat& seat) {
  for (const std::uint32_t node : seat) {
    free_[shape.pool][node] += shape.devices / shape.nodes;
    TUTTI_CHECK(free_[shape.pool][node] <= pools_[shape.pool].per_node);
  }
  used_ -= shape.devices;
}

std::uint32_t Seats::stranded() const {
  std::uint32_t stranded = 0;
  for (std::size_t p = 0; p < free_.size(); ++p)
    for (const std::uint32_t free : free_[p])
      if (free < pools_[p].per_node) stranded += free;
  return stranded;
}

}  // namespace tutti
