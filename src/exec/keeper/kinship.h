#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "exec/keeper/attempt.h"
#include "exec/keeper/processes.h"

namespace tutti {

// Finds and ends the processes that an attempt has besides its main one, whether or not they left
// its session. The keeper is the subreaper of all of them, so that each becomes its child at the
// latest when its parent ends. Keeper thread only; does not own attempts.
class Kinship {
 public:
  explicit Kinship(const std::string& incarnation);

  void main_started(Attempt& attempt) { mains_.emplace(attempt.pid, &attempt); }
  // A child of the keeper that is of no attempt and ends by itself.
  void helper_started(pid_t pid) { helpers_.insert(pid); }
  // The attempt whose main process this was, which is draining from now on; null: it was an orphan.
  Attempt* reaped(pid_t pid);

  const std::unordered_map<pid_t, Attempt*>& mains() const { return mains_; }
  bool draining() const { return !draining_.empty(); }

  // Kills what is left of draining attempts and returns those of which nothing is left. In their
  // respite processes that read from a pipe, such as the `tee` of `> >(tee log)`, are spared.
  std::vector<Attempt*> settle(std::int64_t now_us);

  // Sends a signal to every process of these attempts that can be found.
  void signal_all(const std::vector<std::pair<Attempt*, int>>& targets) const;

  // Memory in KiB of each of these attempts' sessions, in their order.
  std::vector<std::int64_t> resident(const std::vector<Attempt*>& attempts) const;

 private:
  void signal_group(Attempt& attempt, int signal) const;
  void end_rest(Attempt& attempt) const;
  void chase_orphans(std::int64_t now_us);
  void chase(pid_t orphan, std::int64_t now_us);
  std::uint64_t serial_of(pid_t orphan);
  std::uint64_t serial_in_environment(pid_t pid) const;

  std::string mark_;  // "TUTTI_KEEPER=<incarnation>."
  ChildList children_;
  std::unordered_map<pid_t, Attempt*> mains_;  // of attempts that run
  std::unordered_set<pid_t> helpers_;
  std::vector<Attempt*> draining_;
  std::unordered_map<pid_t, std::uint64_t> orphans_;  // whose they are, once it is known
  bool stray_seen_ = false;
};

}  // namespace tutti
