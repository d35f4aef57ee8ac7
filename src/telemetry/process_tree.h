#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/process_stat.h"
#include "telemetry/monotonic.h"
#include "telemetry/process_words.h"

namespace tutti {

// A process that stands for an attempt or a lease, and to which its descendants belong.
struct ProcessRoot {
  std::uint64_t id = 0;  // the caller's own
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  // zero: not known, any process with this pid
  // "NAME=value", all of which a process has that was started by this root and left it; empty:
  // none.
  std::vector<std::string> environment;
};

// Whose a process on a GPU is. It belongs to the nearest root among its ancestors; else, as parents
// may be gone, to the root that leads its session; else to the root whose environment it has. The
// session of a root that does not lead it says nothing: a whole terminal shares it.
// Answers are kept; each is looked at again after a second. One thread.
class ProcessTree {
 public:
  explicit ProcessTree(MonotonicClock clock = monotonic_us) : clock_(std::move(clock)) {}

  // Replaces all roots. Keep a root until nothing of it holds a GPU: its own process may be gone.
  void set_roots(std::vector<ProcessRoot> roots);

  // The id of its root; nothing: it is foreign, or gone.
  std::optional<std::uint64_t> owner(std::int64_t pid);

  // Who it is; asked once for each process.
  const ProcessDescription& describe(std::int64_t pid);

  // How many processes are remembered; those not asked for lately are forgotten.
  std::size_t remembered() const { return known_.size(); }

 private:
  struct Known {
    std::uint64_t start_ticks = 0;
    std::int64_t checked_us = 0;
    std::int64_t asked_us = 0;
    std::optional<std::uint64_t> owner;
    bool judged = false;  // `owner` is about the present roots
    std::optional<ProcessDescription> description;
  };

  Known* look_up(std::int64_t pid);
  void forget_old(std::int64_t now_us);
  std::optional<std::uint64_t> judge(std::int64_t pid) const;
  const ProcessRoot* root_at(std::int64_t pid, std::uint64_t start_ticks) const;

  MonotonicClock clock_;
  std::map<std::int64_t, ProcessRoot> roots_;  // by pid
  std::unordered_map<std::int64_t, Known> known_;
  std::int64_t swept_us_ = 0;
};

}  // namespace tutti
