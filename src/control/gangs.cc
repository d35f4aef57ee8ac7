// Controller's dealings with gangs: ranks are placed together, begin together, and end together
// when one of them fails.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "control/controller.h"
#include "core/policy/gang_placement.h"

namespace tutti {

void Controller::place(const GangStart& start) {
  const Job& job = *ledger_.find_job(start.job);
  const std::vector<std::uint32_t> ranks = ledger_.ready_ranks(job);
  TUTTI_CHECK(ranks.size() == start.ranks.size() ||
              (ranks.size() > start.ranks.size() && is_elastic(ledger_.ranks_of(job))));
  std::vector<AttemptPlaced> placed;
  for (std::size_t i = 0; i < start.ranks.size(); ++i) {
    const TaskId task{start.job, ranks[i]};
    placed.push_back(
        {{task, ledger_.attempts_of(task) + 1}, ledger_.new_lane(), false, start.ranks[i]});
    record(placed.back());
  }
  const GangPlaces places = places_of(start.job);
  for (const AttemptPlaced& one : placed) order_start(one, places);
}

namespace {

// The ranks that start first.
std::vector<std::uint32_t> first_wave(const std::vector<RankGroup>& groups) {
  std::vector<std::uint32_t> ranks;
  std::uint32_t first = 0;
  for (const RankGroup& group : groups) {
    for (std::uint32_t i = 0; i < group.at_once(); ++i) ranks.push_back(first + i);
    first += group.count;
  }
  return ranks;
}

// What the ranks of a gang with these allocations (null: none) are told of each other.
GangPlaces places_at(const Ledger& ledger, const std::vector<const Allocation*>& ranks) {
  GangPlaces places(ranks.size());
  std::set<NodeId> nodes;
  std::string here;  // what the others call the daemon's own machine
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank] == nullptr) continue;
    const Allocation& allocation = *ranks[rank];
    const Node& node = *ledger.find_node(allocation.node);
    nodes.insert(node.id);
    places[rank] = {node.name, node.address, allocation.ports,
                    static_cast<std::uint32_t>(allocation.devices.size())};
    if (here.empty()) here = node.daemon_address;
  }
  for (RankPlace& place : places) {
    // On one node nothing has to leave it.
    if (nodes.size() == 1) place.address = "127.0.0.1";
    if (place.address.empty()) place.address = here.empty() ? place.node : here;
  }
  return places;
}

// What the user set for the job, where nothing that a rank is told replaces it, and what it is
// told. In a container the one is part of the other.
std::vector<std::string> variables_of(const JobSpec& spec, std::vector<std::string> told) {
  if (!spec.container.image.empty()) return told;
  std::vector<std::string> variables;
  for (const std::string& entry : spec.remote_env) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    const auto same = [&](const std::string& other) { return other.starts_with(name); };
    if (std::none_of(told.begin(), told.end(), same)) variables.push_back(entry);
  }
  variables.insert(variables.end(), told.begin(), told.end());
  return variables;
}

}  // namespace

// Where the ranks of a gang are; nothing: it is no gang.
GangPlaces Controller::places_of(JobId id) const {
  const Job& job = *ledger_.find_job(id);
  if (ledger_.ranks_of(job).empty()) return {};
  std::vector<const Allocation*> ranks(job.tasks.count);
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    const ActiveAttempt* attempt = ledger_.find_active({id, rank});
    if (attempt != nullptr) ranks[rank] = &attempt->allocation;
  }
  return places_at(ledger_, ranks);
}

std::vector<RankPlan> Controller::plan_of(const JobFacts& facts, const JobSpec& spec) const {
  const std::vector<std::uint32_t> started = first_wave(facts.ranks);
  std::vector<const Request*> wanted;
  for (const RankGroup& group : facts.ranks)
    wanted.insert(wanted.end(), group.at_once(), &group.request);
  std::vector<Node> nodes = ledger_.nodes();
  std::vector<Allocation> grants =
      place_together(nodes, wanted, {.port_seed = facts.id.value * 64});
  if (grants.size() < wanted.size()) {
    for (Node& node : nodes) node = emptied(std::move(node));
    grants = place_together(nodes, wanted, {.port_seed = facts.id.value * 64});
  }
  if (grants.size() < wanted.size()) return {};
  std::vector<const Allocation*> ranks(facts.tasks.count);
  for (std::size_t i = 0; i < grants.size(); ++i) ranks[started[i]] = &grants[i];
  const GangPlaces places = places_at(ledger_, ranks);
  std::vector<RankPlan> plan;
  for (const std::uint32_t rank : started) {
    const Allocation& grant = *ranks[rank];
    const Node& node = *ledger_.find_node(grant.node);
    Launch launch = launch_of(facts.id, spec, {{facts.id, rank}, 1}, {}, grant, node, places);
    RankPlan& one = plan.emplace_back();
    one.rank = rank;
    one.group = workers_of_rank(spec.gang, rank).name;
    one.node = node.name;
    for (const DeviceGrant& device : grant.devices) one.devices.push_back(device.id);
    one.ports = grant.ports;
    one.env = variables_of(spec, std::move(launch.env));
  }
  return plan;
}

// After a restart: ranks that are not known to have begun may still have to get ready.
void Controller::restore_barriers() {
  constexpr Duration kUntilKnown = seconds(600);
  for (const auto& [task, attempt] : ledger_.active()) {
    if (attempt.started_at || attempt.stop_cause != Ending::kExited ||
        ledger_.ranks_of(*ledger_.find_job(task.job)).empty())
      continue;
    Barrier& barrier = barriers_[task.job];
    barrier.awaited.insert(attempt.id);
    barrier.deadline = now_ + kUntilKnown;
  }
}

void Controller::take_one(const AttemptReady& ready) {
  leave_barrier(ready.attempt, true);
}

// It is awaited no more: it is ready, or it has begun already.
void Controller::leave_barrier(AttemptId attempt, bool ready) {
  const auto found = barriers_.find(attempt.task.job);
  if (found == barriers_.end() || found->second.awaited.erase(attempt) == 0) return;
  if (ready) found->second.ready.insert(attempt);
  if (found->second.awaited.empty()) release(found);
}

void Controller::release(std::map<JobId, Barrier>::iterator barrier) {
  for (const AttemptId& attempt : barrier->second.ready) {
    const ActiveAttempt* active = ledger_.find_active(attempt.task);
    if (active != nullptr && active->id == attempt && active->stop_cause == Ending::kExited)
      effects_.emplace_back(ReleaseAttempt{attempt, active->allocation.node});
  }
  barriers_.erase(barrier);
}

void Controller::stop_rank(AttemptId attempt, Ending cause) {
  const NodeId node = ledger_.find_active(attempt.task)->allocation.node;
  record(StopOrdered{attempt, cause});
  // Executors need not know of gangs.
  const Ending told = cause == Ending::kRankFailed ? Ending::kCancelled : cause;
  effects_.emplace_back(StopAttempt{attempt, node, told});
}

// What became of some ranks has consequences for the others.
void Controller::settle_gangs() {
  for (const JobId id : std::exchange(disturbed_, {})) {
    const Job* job = ledger_.find_job(id);
    if (job == nullptr) continue;
    for (const auto& [attempt, cause] : ledger_.stops_due(*job)) stop_rank(attempt, cause);
    // A rank that will never be ready holds up those that are only if they are to start at all.
    const auto barrier = barriers_.find(id);
    if (barrier == barriers_.end()) continue;
    std::erase_if(barrier->second.awaited, [&](const AttemptId& attempt) {
      const ActiveAttempt* active = ledger_.find_active(attempt.task);
      return active == nullptr || active->id != attempt || active->stop_cause != Ending::kExited;
    });
    if (barrier->second.awaited.empty()) release(barrier);
  }
}

// A rank that is not ready in time has failed.
void Controller::end_barriers() {
  std::vector<AttemptId> late;
  for (const auto& [job, barrier] : barriers_) {
    if (barrier.deadline > now_) continue;
    late.insert(late.end(), barrier.awaited.begin(), barrier.awaited.end());
  }
  for (const AttemptId& attempt : late) {
    barriers_.erase(attempt.task.job);
    if (ledger_.is_current(attempt) &&
        ledger_.find_active(attempt.task)->stop_cause == Ending::kExited)
      stop_rank(attempt, Ending::kNotStarted);
  }
}

TimePoint Controller::next_barrier() const {
  TimePoint next;
  for (const auto& [job, barrier] : barriers_) {
    if (!next || barrier.deadline < next) next = barrier.deadline;
  }
  return next;
}

// Says what the ranks of a gang that were stopped were stopped for.
void Controller::explain_end(const ActiveAttempt& attempt, Outcome& outcome) const {
  if (attempt.stop_cause == Ending::kNotStarted) {
    outcome = {.ending = Ending::kNotStarted, .exit_code = 126};
    outcome.message =
        fmt::format("rank {} on {} was not ready to start in time", attempt.id.task.index,
                    ledger_.find_node(attempt.allocation.node)->name);
  }
  if (attempt.stop_cause != Ending::kRankFailed || outcome.succeeded()) return;
  outcome.ending = Ending::kRankFailed;
  const JobId job = attempt.id.task.job;
  const auto failed = ledger_.first_failed(*ledger_.find_job(job));
  const Allocation* const place = failed ? ledger_.former_place({job, *failed}) : nullptr;
  outcome.message = place != nullptr ? fmt::format("ended because rank {} on {} failed", *failed,
                                                   ledger_.find_node(place->node)->name)
                                     : "ended because another rank did not go on";
}

}  // namespace tutti
