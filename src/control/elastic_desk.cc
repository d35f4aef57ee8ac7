#include "control/elastic_desk.h"

#include <algorithm>

#include "base/check.h"

namespace tutti {
namespace {

constexpr double kHour = 3600;

// Whether it could run now, runs, or is being stopped to run again.
bool takes_part(const Ledger& ledger, const Job& job) {
  return job.counts.active() > 0 || (job.after.empty() && !ledger.ready_ranks(job).empty());
}

std::uint32_t devices_of(const std::vector<NodeShare>& shares) {
  std::uint32_t devices = 0;
  for (const NodeShare& one : shares) devices += one.devices;
  return devices;
}

}  // namespace

void ElasticDesk::open(ElasticRules rules, TimePoint start) {
  TUTTI_CHECK(rules.policy != nullptr && rules.monitor != nullptr && rules.round.value > 0);
  rules_ = std::move(rules);
  start_ = last_ = start;
}

double ElasticDesk::since_start(TimePoint time) const {
  return static_cast<double>((time - start_).value) / 1e6;
}

TimePoint ElasticDesk::next_round(const Ledger& ledger, TimePoint now) {
  if (!is_open() || ledger.elastic().empty()) return next_ = TimePoint();
  if (next_) return next_;
  const std::int64_t round = rules_.round.value;
  const std::int64_t passed = ((now - start_).value + round - 1) / round;
  return next_ = std::max(start_ + rules_.round * passed, last_ + rules_.round);
}

void ElasticDesk::note_end(const Job& job) {
  if (!tallies_.contains(job.id)) return;
  ended_.emplace_back(job.id, job.finished_at);
  targets_.erase(job.id);
}

// Those that have devices have had them for the whole round: they change between rounds only.
void ElasticDesk::count_round(const Ledger& ledger, TimePoint now) {
  const double passed = static_cast<double>((now - last_).value) / 1e6;
  for (auto& [id, tally] : tallies_) {
    const Job* job = ledger.find_job(id);
    if (job == nullptr || job->counts.active() == 0) continue;
    tally.executed_s += passed;
    tally.attained_s += passed * devices_of(shares_of(ledger, *job));
  }
}

void ElasticDesk::count_events(const Ledger& ledger, double now_s) {
  std::sort(ended_.begin(), ended_.end());
  for (const auto& [id, at] : ended_) {
    events_.push_back(since_start(at));
    tallies_.erase(id);
  }
  ended_.clear();
  for (const JobId id : ledger.elastic()) {
    if (!tallies_.try_emplace(id).second) continue;
    events_.push_back(since_start(ledger.find_job(id)->submitted_at));
  }
  while (!events_.empty() && events_.front() < now_s - kHour) events_.pop_front();
}

// Jobs that have devices of other nodes, such as those that are drained, or that are ending, stay
// what they are; so do the nodes where they have others: `apart`.
NodePools ElasticDesk::pools_of(const Ledger& ledger, std::set<JobId>& apart) {
  while (true) {
    std::map<NodeId, std::uint32_t> use;
    const std::size_t known = apart.size();
    for (const JobId id : ledger.elastic()) {
      const Job& job = *ledger.find_job(id);
      const std::vector<NodeShare> shares = shares_of(ledger, job);
      if (!shares.empty()) targets_.try_emplace(id, shares);
      if (job.counts[TaskState::kSucceeded] > 0) apart.insert(id);
      if (apart.contains(id)) continue;
      for (const NodeShare& one : shares) use[one.node] += one.devices;
    }
    NodePools pools(ledger.nodes(), use);
    std::erase_if(targets_, [&](const auto& target) {
      // A round that was not written may have promised something to a job that never was.
      const Job* job = ledger.find_job(target.first);
      if (job == nullptr) return true;
      if (pools.has(target.second)) return false;
      if (job->counts.active() == 0) return true;
      apart.insert(target.first);
      return false;
    });
    if (apart.size() == known) return pools;
  }
}

ElasticJob ElasticDesk::view_of(const Ledger& ledger, const Job& job, const NodePools& pools) {
  ElasticJob view = rules_.monitor->describe(job.id, pools.pools());
  view.id = job.id;
  view.submitted_s = since_start(job.submitted_at);
  view.executed_s = tallies_.at(job.id).executed_s;
  view.attained_s = tallies_.at(job.id).attained_s;
  const auto target = targets_.find(job.id);
  if (target == targets_.end()) return view;
  const Placement has = pools.placement_of(target->second);
  for (std::size_t i = 0; i < view.options.size(); ++i) {
    const Shape& shape = view.options[i].shape;
    if (shape.pool == has.pool && shape.devices == has.nodes.size()) view.current = i;
  }
  // What it was promised it gets, before it is asked to change again.
  view.starting = view.current && (view.starting || shares_of(ledger, job) != target->second);
  return view;
}

ElasticDesk::View ElasticDesk::look(const Ledger& ledger, TimePoint now) {
  std::set<JobId> apart;
  View view{.pools = pools_of(ledger, apart), .snapshot = {.now_s = since_start(now)}, .has = {}};
  count_events(ledger, view.snapshot.now_s);
  view.snapshot.events_per_hour = static_cast<double>(events_.size());
  view.snapshot.pools = view.pools.pools();
  for (const JobId id : ledger.elastic()) {
    const Job& job = *ledger.find_job(id);
    if (apart.contains(id)) continue;
    if (!takes_part(ledger, job)) {
      // One that backs off: others may have its devices meanwhile.
      targets_.erase(id);
      continue;
    }
    view.snapshot.jobs.push_back(view_of(ledger, job, view.pools));
    const auto target = targets_.find(id);
    view.has.push_back(target == targets_.end() ? Placement()
                                                : view.pools.placement_of(target->second));
  }
  return view;
}

std::vector<JobId> ElasticDesk::decide(const Ledger& ledger, TimePoint now) {
  count_round(ledger, now);
  last_ = now;
  next_ = TimePoint();
  const View view = look(ledger, now);
  const std::vector<ElasticJob>& jobs = view.snapshot.jobs;
  if (jobs.empty()) return {};
  const Choices choices = rules_.policy->decide(view.snapshot);
  TUTTI_CHECK(choices.size() == jobs.size());
  for (std::size_t i = 0; i < choices.size(); ++i)
    TUTTI_CHECK(!choices[i] || *choices[i] < jobs[i].options.size());
  const std::vector<Placement> placements =
      place(rules_.placing, view.snapshot, choices, view.has, rules_.policy->order());
  std::vector<JobId> stops;
  for (std::size_t i = 0; i < placements.size(); ++i) {
    if (placements[i] == view.has[i]) continue;
    if (!view.has[i].nodes.empty()) stops.push_back(jobs[i].id);
    if (placements[i].nodes.empty())
      targets_.erase(jobs[i].id);
    else
      targets_[jobs[i].id] = view.pools.shares_of(placements[i]);
  }
  return stops;
}

std::vector<GangStart> ElasticDesk::starts(const Ledger& ledger) const {
  std::vector<GangStart> starts;
  std::vector<Node> nodes;
  for (const auto& [id, shares] : targets_) {
    const Job* job = ledger.find_job(id);
    if (job == nullptr || !job->after.empty() || ledger.ready_ranks(*job).size() < shares.size())
      continue;
    if (nodes.empty()) nodes = ledger.nodes();
    GangStart start{.job = id, .ranks = {}};
    for (const NodeShare& share : shares) {
      Request request = ledger.request_of(*job, 0);
      request.devices.count = share.devices;
      Node& node = nodes.at(share.node.value - 1);
      if (node.state != Node::State::kUp || !fits_now(node, request)) break;
      start.ranks.push_back(grant(node, request, {}, {}, id.value * 64));
    }
    if (start.ranks.size() < shares.size()) continue;
    for (const Allocation& one : start.ranks) reserve(nodes.at(one.node.value - 1), one);
    starts.push_back(std::move(start));
  }
  return starts;
}

}  // namespace tutti
