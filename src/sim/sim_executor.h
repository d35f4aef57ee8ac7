#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "control/executor.h"
#include "sim/sim_command.h"
#include "sim/virtual_clock.h"

namespace tutti {

// An Executor that only counts time. It keeps lanes as a real one does: as many attempts run in a
// lane as it has allocations; one that ends is followed by the next of the backlog at once; and it
// checks what it is told: no attempt is started twice, and no node is over-allocated. Owned by the
// simulation, which delivers reports by calling advance(); one thread.
class SimExecutor : public Executor {
 public:
  // What an attempt does when it starts.
  using Behaviour = std::function<SimRun(const StartAttempt& order)>;

  // Without a behaviour, each attempt does what its command line says: see SimCommand.
  explicit SimExecutor(VirtualClock& clock, Behaviour behaviour = {});

  // Reports arrive this much later than what they tell of.
  void set_report_delay(Duration delay) { report_delay_ = delay; }

  // For long simulations: it does not remember what has ended, nor the last orders, and does not
  // report starts, because the end tells of them too.
  void keep_little() { keeps_little_ = true; }

  // Adds a node, or changes its size when the name is known.
  void set_node(Node node);

  Result<void> attach(const Known& known, ReportSink& sink) override;
  void order(std::vector<Effect> effects) override;
  void journalled(std::span<const AttemptId> ended) override;

  // When something will next happen; zero: nothing is going on.
  TimePoint next() const;
  // Does what is due by now and delivers the reports of it.
  void advance();
  // Nobody listens any more: the controller is gone. Ends with the next attach().
  void detach() { sink_ = nullptr; }

  // A running attempt ended by itself, at a moment that may have passed.
  void finish(AttemptId attempt, TimePoint at);

  // Dies with everything that it ran and comes back empty: a new incarnation.
  void die();
  // Cut off: orders are lost and reports are kept, until it comes back with an Inventory.
  void go_away() { away_ = true; }
  void come_back();

  // Names of broken promises, in order; empty when all was well.
  const std::vector<std::string>& complaints() const { return complaints_; }
  std::size_t running() const { return running_.size(); }
  std::uint64_t starts() const { return starts_; }
  std::uint64_t recalls() const { return recalls_; }
  const std::vector<Effect>& last_orders() const { return last_orders_; }

 private:
  struct Running {
    StartAttempt order;
    TimePoint started_at;
    Outcome outcome;
    bool ignores_stop = false;
    bool stopping = false;
  };
  struct LanePool {
    std::uint32_t width = 0;
    std::uint32_t running = 0;
    std::deque<AttemptId> backlog;
  };
  // What each node's running attempts use together.
  struct Use {
    MilliCpu cpus;
    MiB memory;
    std::map<DeviceId, MilliGpu> share;
    std::map<DeviceId, MiB> device_memory;
    std::map<std::uint32_t, std::int64_t> ports;
  };

  void take(StartAttempt order);
  void take(const StopAttempt& order);
  void take(const RecallAttempt& order);
  void take(const WarnAttempt& /*order*/) {}
  void take(const WatchNode& /*order*/) {}
  void take(const ForgetNode& /*order*/) {}
  void take(const ReleaseAttempt& order);
  void enter_lane(StartAttempt order);
  static void measure(const Allocation& allocation, Outcome& outcome);
  void fill(LaneId lane);
  void start(StartAttempt order);
  void end(AttemptId attempt, TimePoint at);
  void end_at(AttemptId attempt, TimePoint at);
  bool remove_from_backlog(AttemptId attempt, LaneId& lane);
  void report_end(AttemptEnded ended);
  void report(Report report);
  void deliver_inventory(std::vector<Report>& due);
  void check_room(NodeId node);
  void charge(const StartAttempt& order, std::int64_t sign);
  void complain(std::string what) { complaints_.push_back(std::move(what)); }

  VirtualClock& clock_;
  Behaviour behaviour_;
  ReportSink* sink_ = nullptr;
  Duration report_delay_;
  bool away_ = false;
  bool keeps_little_ = false;
  std::vector<Node> nodes_;
  std::map<NodeId, Use> use_;
  std::map<LaneId, LanePool> lanes_;
  std::map<AttemptId, StartAttempt> waiting_;
  std::map<AttemptId, StartAttempt> held_;  // until they are released
  std::map<AttemptId, Running> running_;
  std::map<AttemptId, AttemptEnded> results_;  // until they are journalled
  std::set<AttemptId> lost_;  // died with an earlier incarnation, and that is not journalled yet
  std::set<AttemptId> ever_started_;
  std::multimap<TimePoint, AttemptId> ends_;
  std::multimap<TimePoint, Report> reports_;
  std::vector<Effect> last_orders_;
  std::vector<std::string> complaints_;
  std::uint64_t starts_ = 0;
  std::uint64_t recalls_ = 0;
};

}  // namespace tutti
