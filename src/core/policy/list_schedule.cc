#include "core/policy/list_schedule.h"

#include <algorithm>
#include <limits>

namespace tutti {
namespace {

constexpr std::size_t kMostGaps = 256;
// Shorter ones are rounded up, so that no count of starts overflows.
constexpr Duration kShortest = milliseconds(1);
// Nothing is foretold beyond thirty years.
constexpr Duration kFarthest = seconds(1'000'000'000);

// How many of the tasks of one column start until then.
template <typename Column>
std::int64_t turns_by(const Column& column, Duration runs, TimePoint then) {
  if (then < column.at) return 0;
  return std::min((then - column.at).value / runs.value + 1, column.most);
}

template <typename Columns>
std::uint64_t starts_by(const Columns& columns, Duration runs, TimePoint then) {
  std::uint64_t starts = 0;
  for (const auto& column : columns)
    starts += column.count * static_cast<std::uint64_t>(turns_by(column, runs, then));
  return starts;
}

// When the last of so many tasks starts; zero: there is no room for them.
template <typename Columns>
TimePoint last_start(const Columns& columns, Duration runs, std::uint64_t tasks) {
  if (columns.empty()) return {};
  TimePoint low = columns.front().at;
  for (const auto& column : columns) low = std::min(low, column.at);
  TimePoint high = low + kFarthest;
  if (starts_by(columns, runs, high) < tasks) return {};
  while (low < high) {
    const TimePoint middle = low + Duration((high - low).value / 2);
    if (starts_by(columns, runs, middle) < tasks)
      low = middle + Duration(1);
    else
      high = middle;
  }
  return low;
}

}  // namespace

void ListSchedule::add(std::size_t node, MilliCpu size, TimePoint free_at) {
  if (size.value <= 0) return;
  std::vector<Slot>& slots = slots_[node];
  const auto at =
      std::lower_bound(slots.begin(), slots.end(), free_at,
                       [](const Slot& slot, TimePoint then) { return slot.free_at < then; });
  if (at != slots.end() && at->free_at == free_at)
    at->size += size.value;
  else
    slots.insert(at, {free_at, size.value});
}

void ListSchedule::add_gap(const Gap& gap) {
  if (gap.size > 0 && gap.from < gap.to && gaps_.size() < kMostGaps) gaps_.push_back(gap);
}

void ListSchedule::leave(std::size_t node, MilliCpu size) {
  std::int64_t left = std::max<std::int64_t>(size.value, 0);
  for (Slot& slot : slots_[node]) {
    slot.size = std::min(slot.size, left);
    left -= slot.size;
  }
  std::erase_if(slots_[node], [](const Slot& slot) { return slot.size == 0; });
  std::erase_if(gaps_, [&](const Gap& gap) { return gap.node == node; });
}

std::size_t ListSchedule::steps() const {
  std::size_t steps = gaps_.size() + slots_.size();
  for (const std::vector<Slot>& slots : slots_) steps += slots.size();
  return steps;
}

std::vector<ListSchedule::Column> ListSchedule::columns_for(const EqualTasks& tasks) const {
  std::vector<Column> columns;
  const auto fitting = [&](std::size_t node, std::int64_t size) {
    return std::min(static_cast<std::uint64_t>(size / tasks.size.value), tasks.most[node]);
  };
  for (std::size_t node = 0; node < slots_.size(); ++node) {
    if (tasks.most[node] == 0) continue;
    std::uint64_t before = 0;
    std::int64_t free = 0;
    for (const Slot& slot : slots_[node]) {
      free += slot.size;
      const std::uint64_t fit = fitting(node, free);
      if (fit > before)
        columns.push_back({false, node, std::max(slot.free_at, tasks.from), fit - before,
                           std::numeric_limits<std::int64_t>::max()});
      before = fit;
    }
  }
  for (std::size_t i = 0; i < gaps_.size() && tasks.bound.value > 0; ++i) {
    const Gap& gap = gaps_[i];
    const TimePoint from = std::max(gap.from, tasks.from);
    const Duration spare = gap.to - from - tasks.bound;
    const std::uint64_t fit = fitting(gap.node, gap.size);
    if (fit == 0 || spare.value < 0) continue;
    columns.push_back({true, i, from, fit, spare.value / tasks.runs.value + 1});
  }
  return columns;
}

TimePoint ListSchedule::place(const EqualTasks& wanted) {
  EqualTasks tasks = wanted;
  tasks.runs = std::max(tasks.runs, kShortest);
  tasks.size = std::max(tasks.size, MilliCpu(1));
  const std::vector<Column> columns = columns_for(tasks);
  const TimePoint last = last_start(columns, tasks.runs, tasks.count);
  if (!last) return {};
  std::uint64_t excess = starts_by(columns, tasks.runs, last) - tasks.count;
  // From the back: a later column of a node leaves the earlier ones what they rest on.
  for (auto column = columns.rbegin(); column != columns.rend(); ++column) {
    const std::int64_t turns = turns_by(*column, tasks.runs, last);
    if (turns == 0) continue;
    const bool starts_last = column->at + Duration(tasks.runs.value * (turns - 1)) == last;
    const std::uint64_t fewer = starts_last ? std::min(excess, column->count) : 0;
    excess -= fewer;
    take(*column, column->count - fewer, turns, tasks);
    take(*column, fewer, turns - 1, tasks);
  }
  std::erase_if(gaps_, [](const Gap& gap) { return gap.size == 0; });
  return last;
}

void ListSchedule::take(const Column& column, std::uint64_t count, std::int64_t turns,
                        const EqualTasks& tasks) {
  if (count == 0 || turns == 0) return;
  const std::int64_t size = static_cast<std::int64_t>(count) * tasks.size.value;
  const TimePoint free_at = column.at + Duration(tasks.runs.value * turns);
  if (column.is_gap)
    take_gap(column, size, free_at);
  else
    take_slots(column.index, column.at, size, free_at);
}

// Of what is free by then it takes what became so last: the rest can be used longer.
void ListSchedule::take_slots(std::size_t node, TimePoint at, std::int64_t size,
                              TimePoint free_at) {
  std::vector<Slot>& slots = slots_[node];
  const std::int64_t whole = size;
  for (auto slot = slots.rbegin(); slot != slots.rend() && size > 0; ++slot) {
    if (slot->free_at > at) continue;
    const std::int64_t part = std::min(slot->size, size);
    slot->size -= part;
    size -= part;
    add_gap({node, slot->free_at, at, part});
  }
  std::erase_if(slots, [](const Slot& slot) { return slot.size == 0; });
  add(node, MilliCpu(whole), free_at);
}

void ListSchedule::take_gap(const Column& column, std::int64_t size, TimePoint free_at) {
  const Gap gap = gaps_[column.index];
  gaps_[column.index].size -= size;
  add_gap({gap.node, gap.from, column.at, size});
  add_gap({gap.node, free_at, gap.to, size});
}

}  // namespace tutti
