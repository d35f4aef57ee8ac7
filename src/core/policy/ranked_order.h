#pragma once

#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "core/policy/queue_order.h"

namespace tutti {

// What a job's turn follows from: less is sooner, and of equals the older job.
using Rank = std::function<double(const GroupView& view, const ReadyJob& job)>;

// Takes the oldest job of each group, of all of them the one with the smallest rank. Priorities and
// accounts do not count.
class RankedOrder final : public QueueOrder {
 public:
  RankedOrder(const Snapshot& snapshot, Rank rank);

  std::optional<std::size_t> next() const override;
  bool granted(std::size_t position) override;
  bool granted_head(std::size_t position) override { return move_on(position, true); }
  const ReadyJob& head(std::size_t position) const override;
  void remove(std::size_t position) override { queue_.erase(entry_of(position)); }

 private:
  struct Place {
    std::size_t head = 0;
    std::uint32_t taken = 0;  // tasks taken of that head
    double rank = 0;
  };
  using Entry = std::tuple<double, JobId, std::size_t>;

  Entry entry_of(std::size_t position) const;
  bool move_on(std::size_t position, bool next_head);

  const Snapshot& snapshot_;
  Rank rank_;
  std::vector<Place> places_;  // by position
  std::set<Entry> queue_;
};

}  // namespace tutti
