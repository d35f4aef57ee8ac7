#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/elastic/view.h"

namespace tutti {

// The nodes of a pool that a job has, by position; of each it has the same number of devices.
using Seat = std::vector<std::uint32_t>;

// Which devices are free, node by node. Knows numbers, not jobs. Owned by the rounds of a
// simulation; one thread.
class Seats {
 public:
  explicit Seats(const std::vector<Pool>& pools);

  // The emptiest nodes that have room, the first ones of equals: as the benchmark's own FCFS.
  std::optional<Seat> take_emptiest(const Shape& shape);
  // The fullest nodes that have room, so that large gaps stay for large jobs.
  std::optional<Seat> take_fullest(const Shape& shape);
  void take(const Shape& shape, const Seat& seat);
  void give_back(const Shape& shape, const Seat& seat);

  std::uint32_t free_on(std::uint32_t pool, std::uint32_t node) const { return free_[pool][node]; }
  std::uint32_t nodes(std::uint32_t pool) const {
    return static_cast<std::uint32_t>(free_[pool].size());
  }
  std::uint32_t used() const { return used_; }
  // Idle devices on nodes of which others are in use.
  std::uint32_t stranded() const;

 private:
  std::optional<Seat> take_in_order(const Shape& shape, bool emptiest);

  std::vector<Pool> pools_;
  std::vector<std::vector<std::uint32_t>> free_;
  std::uint32_t used_ = 0;
};

}  // namespace tutti
