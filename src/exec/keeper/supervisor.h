#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exec/keeper/attempt.h"
#include "exec/keeper/cgroups.h"
#include "exec/keeper/kinship.h"
#include "exec/keeper/lanes.h"
#include "exec/keeper/launcher.h"
#include "exec/keeper/limits_note.h"
#include "exec/keeper/messages.h"

namespace tutti {

// Carries out the orders: starts attempts in their lanes, ends them when they are told or their
// time is over, collects results and keeps them until they are acknowledged. Knows no sockets;
// reports are appended to reports(). Keeper thread only.
class Supervisor {
 public:
  Supervisor(Launcher launcher, CgroupPool& cgroups, LimitsNote& limits,
             const std::string& incarnation);

  void take(ContextOrder order);
  void take(const DropContext& order) { contexts_.erase(order.job); }
  // A new controller does not know what its predecessor has sent.
  void forget_contexts() {
    contexts_.clear();
    cleanups_.clear();
  }
  void take(StartOrder order);
  void take(CleanupOrder order) { cleanups_[order.attempt] = std::move(order.argv); }
  void take(const StopOrder& order);
  void take(const RecallOrder& order);
  void take(const Ack& ack);
  Listing list() const;

  // To be called after a batch of orders: signals are sent for all of them together.
  void send_signals();
  // A child has ended.
  void reap();
  // Whatever was due by now.
  void advance(std::int64_t now_us);
  // When advance() has something to do; INT64_MAX: never.
  std::int64_t next_due() const;
  // Takes everything out of the lanes and kills what runs.
  void end_all();

  bool idle() const { return attempts_.empty(); }
  std::size_t active() const { return attempts_.size(); }
  std::size_t unacknowledged() const { return results_.size(); }
  std::string& reports() { return reports_; }
  // Whether nobody needs the reports at once.
  bool may_hold_reports() const { return lanes_.all_have_backlog(); }

 private:
  void fill_lane(LaneId lane);
  void start(Attempt& attempt);
  Launched launch(Attempt& attempt);
  void put_under_limits(Attempt& attempt);
  void do_without_group(Attempt& attempt, const std::string& why);
  void stop(Attempt& attempt, Ending cause, Duration grace);
  void withdraw(Attempt& attempt, Ending ending);
  void settle();
  bool begin_cleanup(Attempt& attempt);
  void complete(Attempt& attempt);
  void check_memory();
  Outcome outcome_of(const Attempt& attempt) const;
  void end(Attempt& attempt, Outcome outcome);
  void report_end(const Attempt& attempt, Outcome outcome, bool released);
  void set_due(Attempt& attempt, std::int64_t due_us);

  Launcher launcher_;
  CgroupPool& cgroups_;
  LimitsNote& limits_;
  Kinship kinship_;
  Lanes lanes_;
  std::unordered_map<JobId, std::shared_ptr<JobContext>> contexts_;
  std::unordered_map<AttemptId, std::unique_ptr<Attempt>, AttemptHash> attempts_;
  // Of attempts whose start has not come yet.
  std::unordered_map<AttemptId, std::vector<std::string>, AttemptHash> cleanups_;
  std::unordered_map<pid_t, Attempt*> cleaners_;
  std::set<std::pair<std::int64_t, Attempt*>> due_;
  std::vector<std::pair<Attempt*, int>> to_signal_;
  std::vector<Attempt*> watched_;
  std::int64_t watch_due_us_ = 0;
  // Results by attempt, with the order in which they came.
  std::unordered_map<AttemptId, std::pair<std::uint64_t, AttemptEnded>, AttemptHash> results_;
  std::uint64_t next_result_ = 1;
  std::uint64_t next_serial_ = 1;
  std::string reports_;
};

}  // namespace tutti
