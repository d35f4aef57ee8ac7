#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/elastic_desk.h"
#include "control/executor.h"
#include "control/front.h"
#include "control/launches.h"
#include "control/store.h"
#include "core/lifecycle/ledger.h"
#include "core/plan/ordering.h"
#include "core/plan/plan.h"

namespace tutti {

// The one place where state changes. It takes commands and reports from a queue, turns them into
// events, applies and journals them, asks decide() what to do, and hands out effects once the round
// is on disk. One thread calls start(), step() and run(); Front's methods, report() and stop() may
// be called from any thread, and while run() sleeps a round that only concerns leases is done by
// the thread that asks for it: waking another one would take longer than the round. The daemon and
// the simulator run this same class.
class Controller : public Front, public ReportSink {
 public:
  Controller(Store& store, Executor& executor, Clock& clock, Publisher& publisher);

  // Recovers what the store remembers and asks the executor what still runs.
  Result<void> start();
  // One round: everything queued so far. Returns when to call it again though nothing is queued;
  // zero: never.
  TimePoint step();
  // Steps until stop(), sleeping while there is nothing to do.
  void run();
  void stop();
  // By which rule waiting work takes its turn. Before start().
  void set_ordering(Ordering ordering) { ordering_ = ordering; }
  // By which rules elastic jobs are scheduled; without any there are none. Before start().
  void set_elastic(ElasticRules rules);

  const Ledger& ledger() const { return ledger_; }

  void report(std::vector<Report> reports) override;
  void submit(std::vector<JobSpec> specs, bool dry_run, Reply<Submitted> reply) override;
  void cancel(std::vector<Selection> selections, Reply<Changed> reply) override;
  void cancel_all(Reply<Changed> reply) override;
  void retry(Selection selection, Reply<Changed> reply) override;
  void explain(JobId job, std::uint32_t task, Reply<Explanation> reply) override;
  void status(Reply<Status> reply) override;
  void set_node_state(std::string node, Node::State state, std::string reason,
                      Reply<Node> reply) override;
  void add_node(Node node, Reply<Node> reply) override;
  void set_node_limit(std::string node, std::uint32_t max_jobs, Reply<Node> reply) override;
  void remove_node(std::string name, bool force, Reply<Node> reply) override;
  void device_holders(Reply<DeviceHolders> reply) override;
  void profiles(Reply<Profiles> reply) override;
  void speeds(Reply<SpeedTable> reply) override;
  void set_speeds(std::vector<SpeedChange> changes, Reply<Changed> reply) override;
  void set_profiles(std::vector<std::pair<std::string, std::optional<Profile>>> profiles,
                    Reply<Changed> reply) override;
  void prune(PruneStep step, Reply<bool> reply) override;

 private:
  // Something to do on the controller's thread.
  using Work = std::function<void()>;
  void post(Work work);
  // `handle` as work that answers with its result once the round is on disk, or with the round's
  // error.
  template <typename T>
  Work answered(std::function<Result<T>()> handle, Reply<T> reply);
  template <typename T>
  void command(std::function<Result<T>()> handle, Reply<T> reply);

  // ---- whose turn it is; all with mutex_ held
  bool has_work() const { return !inbox_.empty() || !reports_.empty(); }
  bool is_due() const;
  // Whether nobody waits for what is queued: leases were given back, and nothing wants their place.
  bool can_wait() const { return inbox_.empty() && !reports_.empty() && !hasty_; }
  bool only_leases_end(const std::vector<Report>& reports) const;
  // Whether a lease that is asked for now may be given by the thread that asks.
  bool may_serve_at_once() const;
  void sleep(std::unique_lock<std::mutex>& lock);
  // One round, for which the lock is let go.
  void take_turn(std::unique_lock<std::mutex>& lock);

  Result<void> reload();
  Known known_attempts();
  void record(EventBody body);

  // ---- commands.cc
  Result<Submitted> accept(std::vector<JobSpec> specs, bool dry_run);
  Result<void> check(JobSpec& spec) const;
  // Of a job that may have been retired.
  Result<TaskState> state_now(JobId id);
  Result<JobFacts> accept_facts(JobId id, const JobSpec& spec);
  Result<Changed> accept_cancel(const std::vector<Selection>& selections);
  std::uint64_t cancel_one(const Selection& selection);
  Result<Changed> accept_retry(const Selection& selection);
  Result<Explanation> accept_explain(JobId job, std::uint32_t task);
  Result<TaskState> final_state(const JobRow& job, std::uint32_t task);
  std::vector<Node> present_nodes() const;
  Status current_status() const;

  // ---- node_commands.cc
  Result<Node> accept_node_state(const std::string& name, Node::State state,
                                 const std::string& reason);
  Result<Node> accept_node(Node node);
  Node accept_key(const Node& known, const std::string& key);
  Result<Node> accept_node_limit(const std::string& name, std::uint32_t max_jobs);
  Result<Node> accept_node_removal(const std::string& name, bool force);

  // ---- reports.cc
  void take(const std::vector<Report>& reports);
  void take_one(const AttemptStarted& started);
  void take_one(const AttemptEnded& ended);
  void take_one(const NodeChanged& changed);
  void take_one(const NodeStateChanged& changed);
  void refuse_devices_of_others(Node& node) const;
  void take_one(const Inventory& inventory);
  void take_one(const AttemptMeasured& measured);
  void take_one(const AttemptReady& ready);

  // ---- a round
  bool has_to_schedule() const;
  bool has_to_reshape();
  void reshape();
  void schedule();
  void apply_plan(const Plan& plan);
  void place(const Start& start);
  Result<StartAttempt> start_order(const AttemptPlaced& placed, const GangPlaces& places);
  void order_start(const AttemptPlaced& placed, const GangPlaces& places);
  void recall(LaneId lane);
  void collect_rows();
  void finish_round();
  bool is_lasting() const;
  void fail_round(const Error& error);

  // ---- gangs.cc
  // Ranks that were ordered and not released: nobody's command begins before all are ready.
  struct Barrier {
    std::set<AttemptId> awaited;
    std::set<AttemptId> ready;
    TimePoint deadline;
  };
  void release(std::map<JobId, Barrier>::iterator barrier);
  void place(const GangStart& start);
  GangPlaces places_of(JobId job) const;
  std::vector<RankPlan> plan_of(const JobFacts& facts, const JobSpec& spec) const;
  void restore_barriers();
  void leave_barrier(AttemptId attempt, bool ready);
  void settle_gangs();
  void stop_rank(AttemptId attempt, Ending cause);
  void end_barriers();
  TimePoint next_barrier() const;
  void explain_end(const ActiveAttempt& attempt, Outcome& outcome) const;

  Store& store_;
  Executor& executor_;
  Clock& clock_;
  Publisher& publisher_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Work> inbox_;      // guarded by mutex_
  std::vector<Report> reports_;  // guarded by mutex_
  bool stopping_ = false;        // guarded by mutex_
  // Guarded by mutex_: whether a round is under way, as it is taken to be until run() is called.
  // What is below belongs to whoever runs it, and while none is, to whoever holds the mutex.
  bool in_turn_ = true;
  bool hasty_ = false;       // guarded by mutex_; whether somebody waits for what was reported
  bool in_company_ = false;  // guarded by mutex_; whether run() sleeps though something is queued
  TimePoint due_;  // guarded by mutex_; when the next round is to be run anyway; zero: never

  Ledger ledger_;
  Launches launches_;
  ElasticDesk elastic_;
  std::uint64_t next_job_ = 1;
  TimePoint now_;
  Round round_;
  Changes changes_;
  std::vector<Effect> effects_;
  std::vector<AttemptId> ended_;
  std::vector<std::function<void(const Error*)>> replies_;
  std::set<AttemptId> recalled_;  // asked back, answer outstanding
  std::map<JobId, Barrier> barriers_;
  std::set<JobId> disturbed_;  // gangs of which a rank ended or was cancelled in this round
  Ordering ordering_ = Ordering::kFair;
  bool closed_ = false;           // as the last plan said
  bool devices_awaited_ = false;  // as the executor was told
  TimePoint wake_at_;
  Duration last_pass_;
  std::uint64_t rounds_ = 0;
  // Why nothing can be written at present; empty: all is well.
  std::string trouble_;
  ErrorCode trouble_code_ = ErrorCode::kUnavailable;
  std::string last_trouble_;  // until a round was written again
};

}  // namespace tutti
