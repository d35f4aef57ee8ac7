#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/units.h"
#include "core/lifecycle/event.h"
#include "core/model/ids.h"
#include "core/model/node.h"
#include "core/model/profile.h"
#include "core/model/record.h"
#include "core/model/request.h"
#include "core/model/task_state.h"
#include "core/model/usage.h"
#include "core/speed/speed_estimator.h"
#include "core/speed/speed_table.h"

namespace tutti {

// What the scheduler cannot tell apart: tasks with equal request, account, priority, time limit,
// kind and model. A million queued tasks cost what their groups cost. A job with limits of its own
// for nodes is told apart from all others.
struct GroupKey {
  Request request;
  Account account;
  std::int32_t priority = 0;
  Duration time_limit;
  std::string kind;
  std::vector<RankGroup> ranks;  // of gangs; empty otherwise
  ModelRun model;                // empty: nothing is said of it
  JobId limited;  // the job that has this group to itself; zero: one without such limits
  auto operator<=>(const GroupKey&) const = default;
};

// Whether tasks of this key may follow each other in one allocation.
bool shares_lanes(const GroupKey& key);
// Whether tasks of this key, of a gang some of its ranks, want devices.
bool wants_devices(const GroupKey& key);

// The pending tasks of one GroupKey. Jobs are taken oldest first.
struct Group {
  GroupKey key;
  std::vector<NodeLimit> node_limits;  // of the job that key.limited names
  // What the table of speeds says of each of its configurations.
  std::vector<std::optional<SpeedEstimate>> speeds;
  std::set<JobId> ready;          // jobs that have a task which could start now
  std::uint64_t ready_tasks = 0;  // of all of them together
  std::uint32_t jobs = 0;         // jobs in the ledger that belong here; zero: free for another key
};

// One task's place in its job.
struct TaskSlot {
  TaskState state = TaskState::kQueued;
  std::uint8_t oom_retries = 0;
  std::uint16_t retries_used = 0;
  std::uint32_t attempts = 0;
  std::uint8_t exit_status = 0;  // of the newest attempt, once the task has failed
};

// A live job. Its tasks from `slots.size()` on were never touched and are in state `rest`.
struct Job {
  JobId id;
  TaskSet tasks;
  std::vector<Dependency> after;  // those that have not been met yet
  TimePoint submitted_at;
  TimePoint started_at;
  TimePoint finished_at;
  TimePoint last_end;                // latest end of a task that is final
  double served = 0;                 // core seconds (weight_of) of its attempts that ended
  Duration backoff;                  // RetryRule, without its padding: a job is all a queue costs
  std::vector<std::uint32_t> again;  // touched tasks that are ready to run once more; descending
  std::vector<TaskSlot> slots;
  TaskCounts counts;
  std::uint32_t max_retries = 0;
  std::uint32_t group = 0;
  std::uint32_t next_fresh = 0;   // no untouched queued task lies before this index
  std::uint32_t backing_off = 0;  // queued tasks whose back-off is not over
  std::uint32_t listed = 0;       // how many tasks its group counts as ready
  std::int16_t exit_status = 0;
  TaskState rest = TaskState::kQueued;
  bool lease = false;
  // A gang whose ranks are being stopped because all of them have to start again.
  bool restarting = false;

  TaskState state_of(std::uint32_t index) const {
    return index < slots.size() ? slots[index].state : rest;
  }
};

// An attempt that holds or will inherit resources.
struct ActiveAttempt {
  AttemptId id;
  LaneId lane;
  Allocation allocation;
  bool staged = false;  // placed behind others of its lane and not known to have started
  TimePoint placed_at;
  TimePoint started_at;
  std::int64_t pid = 0;
  std::int64_t pid_birth = 0;
  Ending stop_cause = Ending::kExited;  // kExited: no stop was ordered
};

// Whether a rank's end, which nobody ordered and which is no success, is a failure.
bool fails_gang(const ActiveAttempt& attempt, const Outcome& outcome);

// A pool of equal allocations on one node, with a first-in-first-out backlog. Its executor starts
// the next staged attempt by itself when one ends, so that a batch of very short tasks does not
// wait for the scheduler between two of them. Attempts with devices or ports and ranks of gangs
// have a lane of their own.
struct Lane {
  LaneId id;
  NodeId node;
  Request request;
  bool shared = false;       // others with this request may be staged in it
  std::uint32_t width = 0;   // allocations held
  std::uint32_t active = 0;  // attempts, staged ones included
  std::uint32_t staged = 0;
  std::vector<TaskId> backlog;  // those that are staged, the next one first
};

// What an event changed, for the store: rows as they are afterwards.
struct Changes {
  std::vector<TaskRow> tasks;
  std::set<JobId> jobs;
  std::set<std::string> kinds;
  std::set<Account> accounts;
};

// All live jobs, attempts, nodes and what they hold: the only mutable state of the scheduler. It
// changes by events alone, deterministically, and knows no clock: replaying the journal gives the
// same ledger. Owned by the controller; not thread-safe. It decides nothing.
class Ledger {
 public:
  // `event` must be possible in this state: accept.h and decide() make only such events, reports of
  // executors are filtered by is_current(). Anything else is a bug.
  void apply(const Event& event, Changes& changes);

  // Lets back-offs that are over by `now` end. Returns true if a task became ready.
  bool advance(TimePoint now);
  // When advance() will next have something to do; zero: never.
  TimePoint next_due() const;

  // Forgets finished jobs. Nothing refers to them any more but the store.
  void retire(const std::set<JobId>& jobs);

  // For recovery: puts back what the store remembers, before any event.
  void restore_node(const Node& node);
  void restore_job(const JobRow& row, const JobFacts& facts, const std::vector<TaskRow>& tasks);
  void restore_profile(const std::string& kind, const Profile& profile);
  void restore_speeds(SpeedTable speeds);
  void restore_usage(const UsageRecord& record);
  void restore_next_lane(std::uint64_t next_lane);

  const Job* find_job(JobId id) const;
  const ActiveAttempt* find_active(TaskId task) const;
  const Node* find_node(NodeId id) const;
  const Node* find_node(const std::string& name) const;
  const Lane* find_lane(LaneId id) const;
  // Whether a report about this attempt is about the task's present one.
  bool is_current(AttemptId attempt) const;

  // The lane that attempts without devices use for this request on this node: an existing one, or a
  // new number.
  LaneId lane_for(NodeId node, const GroupKey& key) const;
  LaneId new_lane() const { return LaneId(next_lane_); }

  // The next task of a group, oldest job first; nothing when the group has none ready.
  std::optional<TaskId> next_ready(std::uint32_t group) const;
  std::uint32_t attempts_of(TaskId task) const;

  // Of a gang: its groups of ranks; none: it is no gang.
  const std::vector<RankGroup>& ranks_of(const Job& job) const;
  // What a task of the job asks for.
  const Request& request_of(const Job& job, std::uint32_t index) const;
  // The ranks of a gang that are to start now, all of them together or none; ascending. Of an
  // elastic one: the first so many of them.
  std::vector<std::uint32_t> ready_ranks(const Job& job) const;
  // Unfinished jobs that may change their shape.
  const std::set<JobId>& elastic() const { return elastic_; }
  // Gangs of which some ranks run and others wait: those come before whatever has not begun.
  const std::set<JobId>& regrowing() const { return regrowing_; }
  // What a rank that failed or waits to run again held when it last ran; null: it never did.
  const Allocation* former_place(TaskId rank) const;
  // The ranks that are to be stopped because of what became of another, and with which cause.
  std::vector<std::pair<AttemptId, Ending>> stops_due(const Job& job) const;
  // The rank whose failure ends the others, of several the smallest.
  std::optional<std::uint32_t> first_failed(const Job& job) const;
  // The state of the whole job.
  TaskState state_of(const Job& job) const;

  TimePoint not_before(TaskId task) const;
  // Whether a task that wants devices could start now but for room.
  bool awaits_devices() const;

  JobRow row(const Job& job) const;
  const Group& group(std::uint32_t index) const { return groups_[index]; }
  const std::vector<Group>& groups() const { return groups_; }
  // Groups with ready tasks, by their oldest ready job.
  using GroupsByAge = std::set<std::pair<JobId, std::uint32_t>>;
  const GroupsByAge& ready_groups() const { return ready_groups_; }
  // The same, those of each priority and account apart: in fair order they come one after another.
  using GroupsByTurn = std::map<std::pair<std::int32_t, Account>, GroupsByAge>;
  const GroupsByTurn& ready_by_turn() const { return ready_by_turn_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::map<LaneId, Lane>& lanes() const { return lanes_; }
  const std::unordered_map<TaskId, ActiveAttempt>& active() const { return active_; }
  const std::unordered_map<JobId, Job>& jobs() const { return jobs_; }
  const Usage& usage() const { return usage_; }
  const Profile* profile(const std::string& kind) const;
  const std::map<std::string, Profile>& profiles() const { return profiles_; }
  const SpeedTable& speeds() const { return speeds_; }
  // The attempt that is alone on its devices so that its kind be measured; null: none.
  const ActiveAttempt* measurer(const std::string& kind) const;
  // What an account's active attempts hold (weight_of).
  MilliCpu held(const Account& account) const;
  TaskCounts totals() const { return totals_; }

 private:
  void on(const JobSubmitted& body, TimePoint at, Changes& changes);
  void on(const CancelRequested& body, TimePoint at, Changes& changes);
  void on(const RetryRequested& body, TimePoint at, Changes& changes);
  void on(const AttemptPlaced& body, TimePoint at, Changes& changes);
  void on(const AttemptStarted& body, TimePoint at, Changes& changes);
  void on(const StopOrdered& body, TimePoint at, Changes& changes);
  void on(const AttemptEnded& body, TimePoint at, Changes& changes);
  void on(const NodeChanged& body, TimePoint at, Changes& changes);
  void on(const NodeStateChanged& body, TimePoint at, Changes& changes);
  void on(const AttemptMeasured& body, TimePoint at, Changes& changes);
  void on(const ProfileChanged& body, TimePoint at, Changes& changes);
  void on(const SpeedsChanged& body, TimePoint at, Changes& changes);

  std::uint32_t group_for(const JobFacts& facts);
  void make_estimates(Group& group);
  void forget_estimates();
  Job& insert_job(const JobFacts& facts, TimePoint submitted_at);
  void restore_task(Job& job, const TaskRow& task);
  void hold(const ActiveAttempt& attempt);
  ActiveAttempt let_go(Job& job, const AttemptEnded& body, Changes& changes);
  void learn_devices(const Job& job, const ActiveAttempt& attempt, const Outcome& outcome,
                     Duration ran);
  bool was_robbed(const ActiveAttempt& attempt) const;
  std::uint32_t oom_retries_of(const Job& job, std::uint32_t index) const;
  bool deserves_more_memory(const Job& job, const ActiveAttempt& attempt,
                            const Outcome& outcome) const;
  void set_state(Job& job, std::uint32_t index, TaskState state);
  void touch(Job& job, std::uint32_t index);
  std::uint64_t ready_of(const Job& job) const;
  void relist(Job& job);
  void reorder(std::uint32_t index, JobId before);
  void back_off(Job& job, TaskId task, TimePoint until);
  void end_back_off(Job& job, TaskId task);
  void queue_again(Job& job, std::uint32_t index);
  void requeue_ended(Job& job, std::uint32_t index, Changes& changes);
  TimePoint take_back(Job& job, const ActiveAttempt& attempt, const Outcome& outcome, bool moved,
                      TimePoint at);
  void finish_if_done(Job& job, TimePoint at, Changes& changes);
  void resolve_waiters(JobId finished, TaskState state, TimePoint at, Changes& changes);
  void move_untouched(Job& job, TaskState state);
  void end_queued(Job& job, std::uint32_t index, TaskState state, Changes& changes);
  void end_all_queued(Job& job, TaskState state, Changes& changes);
  void leave_lane(const ActiveAttempt& attempt, bool released);
  void unstage(Lane& lane, ActiveAttempt& attempt);
  void hand_on(LaneId lane, Changes& changes);
  void sort_backlog(Lane& lane);
  void queue_behind_backlog(ActiveAttempt& attempt, Changes& changes);
  bool is_doomed(const Job& job) const;
  TaskState rank_state_after(const Job& job, std::uint32_t index, const ActiveAttempt& attempt,
                             const Outcome& outcome) const;
  bool restarts_all(const Job& job, const ActiveAttempt& attempt, bool failed) const;
  void settle_rank(Job& job, ActiveAttempt attempt, bool moved, Changes& changes);
  void settle_gang(Job& job, Changes& changes);
  void restart_gang(Job& job, Changes& changes);
  void account_for(Job& job, const ActiveAttempt& attempt, const AttemptEnded& body,
                   Changes& changes);
  TaskState state_after(const Job& job, const ActiveAttempt& attempt, const Outcome& outcome) const;
  TaskRow task_row(const Job& job, std::uint32_t index, const ActiveAttempt* attempt) const;
  Job& job_at(JobId id);
  Node& node_at(NodeId id);

  std::unordered_map<JobId, Job> jobs_;
  std::unordered_map<TaskId, ActiveAttempt> active_;
  std::unordered_map<JobId, std::vector<JobId>> waiters_;  // who waits for that job
  std::set<std::pair<TimePoint, TaskId>> backoffs_;
  std::map<TaskId, TimePoint> backoff_of_;
  std::vector<Group> groups_;
  std::map<GroupKey, std::uint32_t> group_of_;
  std::vector<std::uint32_t> free_groups_;
  GroupsByAge ready_groups_;
  GroupsByTurn ready_by_turn_;
  std::vector<Node> nodes_;  // node n at n - 1
  std::map<LaneId, Lane> lanes_;
  std::map<std::pair<NodeId, Request>, LaneId> shared_lanes_;
  std::uint64_t next_lane_ = 1;
  std::map<std::string, Profile> profiles_;
  SpeedTable speeds_;
  std::map<std::string, std::shared_ptr<const SpeedEstimator>> estimators_;  // by model
  Usage usage_;
  std::map<Account, MilliCpu> held_;
  std::map<std::string, TaskId> measurers_;  // by kind
  std::set<JobId> elastic_;
  std::set<JobId> regrowing_;
  std::uint64_t ready_for_devices_ = 0;  // ready tasks of groups that want devices
  std::map<TaskId, Allocation> former_places_;
  TaskCounts totals_;
};

}  // namespace tutti
