#include "control/controller.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/check.h"
#include "core/plan/snapshot.h"
#include "core/policy/decide.h"

namespace tutti {
namespace {

// How long to wait before trying again to write, when the disk refused.
constexpr Duration kTryAgain = seconds(1);

// How long a released lease may wait for its holder's next request, to be written with it.
constexpr auto kCompany = std::chrono::milliseconds(2);

}  // namespace

Controller::Controller(Store& store, Executor& executor, Clock& clock, Publisher& publisher)
    : store_(store), executor_(executor), clock_(clock), publisher_(publisher), launches_(store) {}

Result<void> Controller::start() {
  now_ = clock_.now();
  if (const Result<void> loaded = reload(); !loaded) return loaded;
  // Nobody is connected any more who could be told of a grant.
  for (const auto& [id, job] : ledger_.jobs()) {
    if (job.lease && job.counts.active() == 0)
      post([this, lease = id] { cancel_one({lease, {}}); });
  }
  return {};
}

Result<void> Controller::reload() {
  Result<Recovered> recovered = store_.recover();
  if (!recovered) return recovered.error();
  ledger_ = Ledger();
  launches_.forget();
  recalled_.clear();
  barriers_.clear();
  disturbed_.clear();
  closed_ = false;
  next_job_ = recovered->next_job;
  ledger_.restore_next_lane(recovered->next_lane);
  for (const Node& node : recovered->nodes) ledger_.restore_node(node);
  for (const auto& [kind, profile] : recovered->profiles) ledger_.restore_profile(kind, profile);
  ledger_.restore_speeds(std::move(recovered->speeds));
  for (const UsageRecord& record : recovered->usage) ledger_.restore_usage(record);
  for (const Recovered::UnfinishedJob& job : recovered->jobs)
    ledger_.restore_job(job.row, job.facts, job.tasks);
  restore_barriers();
  return executor_.attach(known_attempts(), *this);
}

// What the executors are told of after a restart.
Known Controller::known_attempts() {
  Known known{.nodes = ledger_.nodes()};
  std::map<JobId, GangPlaces> places;
  for (const auto& [task, attempt] : ledger_.active()) {
    known.attempts.push_back({.id = attempt.id,
                              .allocation = attempt.allocation,
                              .lease = ledger_.find_job(task.job)->lease,
                              .started_at = attempt.started_at,
                              .pid = attempt.pid,
                              .pid_birth = attempt.pid_birth,
                              .order = {}});
    if (attempt.allocation.node == kThisMachine) continue;
    const auto where = places.try_emplace(task.job);
    if (where.second) where.first->second = places_of(task.job);
    Result<StartAttempt> order = start_order(
        {attempt.id, attempt.lane, attempt.staged, attempt.allocation}, where.first->second);
    if (order) known.attempts.back().order = *std::move(order);
  }
  std::sort(known.attempts.begin(), known.attempts.end(),
            [](const KnownAttempt& a, const KnownAttempt& b) { return a.id < b.id; });
  return known;
}

// ---- the queue
// -----------------------------------------------------------------------------------

void Controller::post(Work work) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.push_back(std::move(work));
  }
  wake_.notify_one();
}

void Controller::report(std::vector<Report> reports) {
  {
    const std::lock_guard lock(mutex_);
    hasty_ = hasty_ || in_turn_ || !only_leases_end(reports);
    std::move(reports.begin(), reports.end(), std::back_inserter(reports_));
    if (in_company_ && !hasty_) return;
  }
  wake_.notify_one();
}

void Controller::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
}

void Controller::run() {
  std::unique_lock lock(mutex_);
  take_turn(lock);
  while (true) {
    sleep(lock);
    if (stopping_) return;
    if (!in_turn_ && (has_work() || is_due())) take_turn(lock);
  }
}

void Controller::sleep(std::unique_lock<std::mutex>& lock) {
  const TimePoint due = due_;
  const auto woken = [this, due] { return stopping_ || (has_work() && !in_turn_) || due_ != due; };
  if (due) {
    const Duration wait = std::max(due - clock_.now(), Duration(0));
    wake_.wait_for(lock, std::chrono::microseconds(wait.value), woken);
  } else {
    wake_.wait(lock, woken);
  }
  if (!can_wait()) return;
  in_company_ = true;
  wake_.wait_for(lock, kCompany, [this] { return stopping_ || (has_work() && !can_wait()); });
  in_company_ = false;
}

void Controller::take_turn(std::unique_lock<std::mutex>& lock) {
  in_turn_ = true;
  lock.unlock();
  const TimePoint due = step();
  lock.lock();
  in_turn_ = false;
  due_ = due;
}

bool Controller::is_due() const {
  return due_ && due_ <= clock_.now();
}

bool Controller::only_leases_end(const std::vector<Report>& reports) const {
  if (ledger_.totals()[TaskState::kQueued] > 0) return false;
  return std::all_of(reports.begin(), reports.end(), [this](const Report& report) {
    const auto* ended = std::get_if<AttemptEnded>(&report);
    const Job* job = ended != nullptr ? ledger_.find_job(ended->attempt.task.job) : nullptr;
    return job != nullptr && job->lease;
  });
}

// With an empty queue nothing else can start in that round, so that it needs no disk.
bool Controller::may_serve_at_once() const {
  return !in_turn_ && inbox_.empty() && !hasty_ && !is_due() && trouble_.empty() &&
         ledger_.totals()[TaskState::kQueued] == 0;
}

TimePoint Controller::step() {
  std::vector<Work> work;
  std::vector<Report> reports;
  {
    const std::lock_guard lock(mutex_);
    work.swap(inbox_);
    reports.swap(reports_);
    hasty_ = false;
  }
  now_ = clock_.now();
  if (!trouble_.empty()) {
    if (const Result<void> again = reload(); !again) {
      for (const Work& one : work) one();
      fail_round(again.error());
      return now_ + kTryAgain;
    }
    trouble_.clear();
    // What was reported meanwhile is reported again by attach(), and must be known before anything
    // new is ordered.
    const std::lock_guard lock(mutex_);
    reports = std::exchange(reports_, {});
  }
  take(reports);
  for (const Work& one : work) one();
  end_barriers();
  settle_gangs();
  const bool ready = ledger_.advance(now_);
  const bool woken = wake_at_ && wake_at_ <= now_;
  if (ready || has_to_reshape()) reshape();
  if (ready || woken || has_to_schedule()) schedule();
  finish_round();
  if (!trouble_.empty()) return now_ + kTryAgain;
  if (const bool awaited = ledger_.awaits_devices(); awaited != devices_awaited_)
    executor_.await_devices(devices_awaited_ = awaited);
  return earlier(earlier(earlier(ledger_.next_due(), wake_at_), next_barrier()),
                 elastic_.next_round(ledger_, now_));
}

// ---- a round
// -------------------------------------------------------------------------------------

void Controller::record(EventBody body) {
  round_.events.push_back({now_, std::move(body)});
  const Event& event = round_.events.back();
  ledger_.apply(event, changes_);
  JobId job;
  if (const auto* ended = std::get_if<AttemptEnded>(&event.body)) job = ended->attempt.task.job;
  if (const auto* cancel = std::get_if<CancelRequested>(&event.body)) job = cancel->job;
  if (job.value == 0) return;
  const Job& changed = *ledger_.find_job(job);
  if (changed.tasks.shape == TaskSet::Shape::kGang) disturbed_.insert(job);
  if (changed.finished_at) elastic_.note_end(changed);
}

// While the queue is closed, what is submitted and what starts changes nothing.
bool Controller::has_to_schedule() const {
  if (!closed_) return !round_.events.empty();
  return !std::all_of(round_.events.begin(), round_.events.end(), [](const Event& event) {
    return std::holds_alternative<JobSubmitted>(event.body) ||
           std::holds_alternative<AttemptStarted>(event.body);
  });
}

void Controller::set_elastic(ElasticRules rules) {
  elastic_.open(std::move(rules), clock_.now());
}

bool Controller::has_to_reshape() {
  const TimePoint next = elastic_.next_round(ledger_, now_);
  return next && (next <= now_ || !round_.events.empty());
}

// Elastic jobs whose shape is to change are stopped; they start again when what they are to have is
// free, which may be in a later round.
void Controller::reshape() {
  if (const TimePoint next = elastic_.next_round(ledger_, now_); next && next <= now_) {
    for (const JobId id : elastic_.decide(ledger_, now_)) {
      const Job& job = *ledger_.find_job(id);
      for (std::uint32_t rank = 0; rank < job.slots.size(); ++rank) {
        const ActiveAttempt* attempt = ledger_.find_active({id, rank});
        if (attempt != nullptr && attempt->stop_cause == Ending::kExited)
          stop_rank(attempt->id, Ending::kPreempted);
      }
    }
  }
  for (const GangStart& start : elastic_.starts(ledger_)) place(start);
}

void Controller::schedule() {
  const TimePoint began = clock_.now();
  while (true) {
    const Plan plan = decide(snapshot_of(ledger_, now_, ordering_));
    wake_at_ = plan.wake_at;
    closed_ = plan.closed;
    apply_plan(plan);
    if (!plan.more) break;
  }
  last_pass_ = clock_.now() - began;
}

void Controller::apply_plan(const Plan& plan) {
  for (const GangStart& start : plan.gangs) place(start);
  for (const Start& start : plan.starts) place(start);
  for (const Recall& one : plan.recalls) recall(one.lane);
}

void Controller::place(const Start& start) {
  const std::optional<TaskId> task = ledger_.next_ready(start.group);
  TUTTI_CHECK(task.has_value());
  const GroupKey& key = ledger_.group(start.group).key;
  const AttemptPlaced placed{{*task, ledger_.attempts_of(*task) + 1},
                             ledger_.lane_for(start.allocation.node, key),
                             start.staged,
                             start.allocation};
  record(placed);
  order_start(placed, {});
}

Result<StartAttempt> Controller::start_order(const AttemptPlaced& placed,
                                             const GangPlaces& places) {
  const Node& node = *ledger_.find_node(placed.allocation.node);
  Result<Launches::Ready> ready = launches_.launch(placed, node, places);
  if (!ready) return ready.error();
  std::vector<Device> devices;
  for (const DeviceGrant& grant : placed.allocation.devices)
    devices.push_back(node.devices.at(grant.id.value));
  return StartAttempt{placed.attempt,           placed.lane,        placed.staged,
                      placed.allocation,        std::move(devices), ready->context,
                      std::move(ready->launch), !places.empty()};
}

void Controller::order_start(const AttemptPlaced& placed, const GangPlaces& places) {
  Result<StartAttempt> order = start_order(placed, places);
  if (!order) {
    Outcome outcome{.ending = Ending::kNotStarted};
    outcome.message = order.error().message;
    report({AttemptEnded{placed.attempt, {}, now_, outcome, !placed.staged}});
    return;
  }
  // Its process runs already.
  const LaunchContext& context = *order->context;
  if (context.lease && !ledger_.find_active(placed.attempt.task)->started_at)
    record(AttemptStarted{placed.attempt, now_, context.holder_pid, context.holder_birth});
  if (order->held) {
    Barrier& barrier = barriers_[placed.attempt.task.job];
    barrier.awaited.insert(placed.attempt);
    barrier.deadline = now_ + context.start_timeout;
  }
  effects_.emplace_back(*std::move(order));
}

void Controller::recall(LaneId lane) {
  std::vector<AttemptId> staged;
  for (const auto& [task, attempt] : ledger_.active()) {
    if (attempt.lane == lane && attempt.staged && !recalled_.contains(attempt.id))
      staged.push_back(attempt.id);
  }
  // The last first: the lane may move on between two of them, and then to the one that is next.
  std::sort(staged.rbegin(), staged.rend());
  const NodeId node = ledger_.find_lane(lane)->node;
  for (const AttemptId& attempt : staged) {
    recalled_.insert(attempt);
    effects_.emplace_back(RecallAttempt{attempt, node});
  }
}

// Adds the rows that its events changed to the round.
void Controller::collect_rows() {
  for (const JobId id : changes_.jobs) round_.jobs.push_back(ledger_.row(*ledger_.find_job(id)));
  // Only the newest row of each attempt is worth writing, in the order of what happened: a
  // recalled attempt's number is smaller afterwards.
  std::map<AttemptId, std::size_t> newest;
  for (std::size_t i = 0; i < changes_.tasks.size(); ++i)
    newest[{changes_.tasks[i].task, changes_.tasks[i].attempts}] = i;
  for (std::size_t i = 0; i < changes_.tasks.size(); ++i) {
    TaskRow& row = changes_.tasks[i];
    if (newest.at({row.task, row.attempts}) == i) round_.tasks.push_back(std::move(row));
  }
  for (const std::string& kind : changes_.kinds) {
    const Profile* profile = ledger_.profile(kind);
    round_.profiles.emplace_back(kind, profile != nullptr ? std::optional(*profile) : std::nullopt);
  }
  round_.lasting = is_lasting();
  for (const Account& account : changes_.accounts)
    round_.usage.push_back(ledger_.usage().record(account));
  for (const auto& [id, spec] : launches_.submitted()) round_.submitted.emplace_back(id, &spec);
  std::sort(round_.submitted.begin(), round_.submitted.end());
}

void Controller::finish_round() {
  if (!round_.events.empty()) {
    ++rounds_;
    collect_rows();
    if (const Result<void> written = store_.commit(round_); !written) {
      fail_round(written.error());
      return;
    }
    last_trouble_.clear();
    publisher_.published(round_);
  }
  // In this order: a recalled attempt's number is used again, and an executor that still keeps the
  // recall as a result would take the new order for one that it has carried out.
  if (!ended_.empty()) executor_.journalled(std::exchange(ended_, {}));
  if (!effects_.empty()) executor_.order(std::exchange(effects_, {}));
  for (const auto& reply : std::exchange(replies_, {})) reply(nullptr);
  std::set<JobId> finished;
  for (const JobId id : changes_.jobs)
    if (ledger_.find_job(id)->finished_at) finished.insert(id);
  ledger_.retire(finished);
  launches_.committed();
  round_ = Round();
  changes_ = Changes();
}

// A lease ends with the machine at the latest, and so does what is on a device. Forgetting them in
// a power cut forgets nothing that is true afterwards.
bool Controller::is_lasting() const {
  const auto passing = [this](const EventBody& body) {
    const auto is_lease = [this](JobId job) { return ledger_.find_job(job)->lease; };
    if (const auto* one = std::get_if<JobSubmitted>(&body)) return one->facts.lease;
    if (const auto* one = std::get_if<AttemptPlaced>(&body)) return is_lease(one->attempt.task.job);
    if (const auto* one = std::get_if<AttemptStarted>(&body))
      return is_lease(one->attempt.task.job);
    if (const auto* one = std::get_if<AttemptEnded>(&body)) return is_lease(one->attempt.task.job);
    return std::holds_alternative<AttemptMeasured>(body);
  };
  return !std::all_of(round_.events.begin(), round_.events.end(),
                      [&](const Event& event) { return passing(event.body); });
}

void Controller::fail_round(const Error& error) {
  // Nothing of this round was written, so nothing of it happened: what is in memory is dropped and
  // read again from the store, and executors keep their results until they are acknowledged.
  trouble_ = last_trouble_ = error.message;
  trouble_code_ = error.code;
  effects_.clear();
  ended_.clear();
  round_ = Round();
  changes_ = Changes();
  launches_.committed();
  wake_at_ = TimePoint();
  for (const auto& reply : std::exchange(replies_, {})) reply(&error);
}

}  // namespace tutti
