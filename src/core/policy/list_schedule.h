#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace tutti {

// So many tasks that want the same, one as long as the other.
struct EqualTasks {
  MilliCpu size;
  std::uint64_t count = 1;
  Duration runs;                             // how long each is expected to run
  Duration bound;                            // when each will have ended; zero: unknown
  std::span<const std::uint64_t> most = {};  // how many each node takes at once
  TimePoint from = {};                       // none starts before
};

// When what waits would start, in miniature: of one thing that is scarce (CPUs, or devices) it
// knows how much of each node becomes free when, and puts tasks there in their order, each where it
// starts first. What is kept for a wide task until it starts is a gap: others pass into it if they
// end before. A million equal tasks take no longer than one: each column (as much as one of them
// wants) runs them one after the other. Knows nothing of clocks, nodes or jobs.
class ListSchedule {
 public:
  explicit ListSchedule(std::size_t nodes) : slots_(nodes) {}

  // So much of the node becomes free then, for good.
  void add(std::size_t node, MilliCpu size, TimePoint free_at);
  // When the last of the tasks starts; zero: nobody knows, and nothing has changed.
  TimePoint place(const EqualTasks& tasks);
  // No more of the node than this is there for what comes: the rest is kept for somebody.
  void leave(std::size_t node, MilliCpu size);
  // How many steps placing takes at most.
  std::size_t steps() const;

 private:
  struct Slot {
    TimePoint free_at;
    std::int64_t size = 0;
  };
  struct Gap {
    std::size_t node = 0;
    TimePoint from;
    TimePoint to;
    std::int64_t size = 0;
  };
  // Equal parts of a slot or a gap, each as wide as one task.
  struct Column {
    bool is_gap = false;
    std::size_t index = 0;  // of the gap, else of the node
    TimePoint at;
    std::uint64_t count = 0;
    std::int64_t most = 0;  // tasks that run in one of them, one after the other
  };

  std::vector<Column> columns_for(const EqualTasks& tasks) const;
  void take(const Column& column, std::uint64_t count, std::int64_t turns, const EqualTasks& tasks);
  void take_slots(std::size_t node, TimePoint at, std::int64_t size, TimePoint free_at);
  void take_gap(const Column& column, std::int64_t size, TimePoint free_at);
  void add_gap(const Gap& gap);

  std::vector<std::vector<Slot>> slots_;  // of each node, the first first
  std::vector<Gap> gaps_;
};

}  // namespace tutti
