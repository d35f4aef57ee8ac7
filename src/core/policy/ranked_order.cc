#include "core/policy/ranked_order.h"

namespace tutti {

RankedOrder::RankedOrder(const Snapshot& snapshot, Rank rank)
    : snapshot_(snapshot), rank_(std::move(rank)), places_(snapshot.groups.size()) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i].rank = rank_(snapshot.groups[i], head(i));
    queue_.insert(entry_of(i));
  }
}

RankedOrder::Entry RankedOrder::entry_of(std::size_t position) const {
  return {places_[position].rank, head(position).job, position};
}

const ReadyJob& RankedOrder::head(std::size_t position) const {
  return snapshot_.groups[position].heads[places_[position].head];
}

std::optional<std::size_t> RankedOrder::next() const {
  if (queue_.empty()) return std::nullopt;
  return std::get<2>(*queue_.begin());
}

bool RankedOrder::granted(std::size_t position) {
  return move_on(position, places_[position].taken + 1 == head(position).tasks);
}

bool RankedOrder::move_on(std::size_t position, bool next_head) {
  Place& place = places_[position];
  if (!next_head) {
    ++place.taken;
    return true;
  }
  const GroupView& view = snapshot_.groups[position];
  const bool left = place.head + 1 < view.heads.size();
  queue_.erase(entry_of(position));
  if (!left) return false;
  place = {.head = place.head + 1};
  place.rank = rank_(view, head(position));
  queue_.insert(entry_of(position));
  return true;
}

}  // namespace tutti
