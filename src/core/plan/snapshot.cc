#include "core/plan/snapshot.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/plan/configurations.h"
#include "core/plan/demand.h"

namespace tutti {
namespace {

// Fewer samples than this say nothing about a kind's next run.
constexpr std::uint64_t kEnoughSamples = 3;

// What a kind's history says of its running time; zero: too little to say anything.
struct Expected {
  Duration recent_mean;
  Duration p50;
  Duration p90;
};

Expected expected_of(const Ledger& ledger, const std::string& kind) {
  const Profile* profile = ledger.profile(kind);
  if (profile == nullptr || profile->samples() < kEnoughSamples) return {};
  return {profile->recent_mean(), profile->quantile(0.5), profile->quantile(0.9)};
}

// Many attempts and groups are of few kinds: what is expected is looked up once for each.
class Expectations {
 public:
  explicit Expectations(const Ledger& ledger) : ledger_(ledger) {}

  const Expected& of(const std::string& kind) {
    const auto [it, is_new] = known_.try_emplace(kind);
    if (is_new) it->second = expected_of(ledger_, kind);
    return it->second;
  }

 private:
  const Ledger& ledger_;
  std::unordered_map<std::string_view, Expected> known_;
};

// What each group of ranks asks for once its kind has run out of device memory; null: it has not.
std::shared_ptr<const std::vector<Request>> raised_ranks(const Ledger& ledger, const Job& job) {
  const GroupKey& key = ledger.group(job.group).key;
  const Profile* profile = wants_devices(key) ? ledger.profile(key.kind) : nullptr;
  if (profile == nullptr) return nullptr;
  const auto devices = profile->devices();
  if (std::none_of(devices.begin(), devices.end(),
                   [](const DeviceProfile& device) { return device.floor.value > 0; }))
    return nullptr;
  const std::vector<DeviceType> types = device_types(ledger.nodes());
  auto raised = std::make_shared<std::vector<Request>>();
  for (const RankGroup& group : key.ranks)
    raised->push_back(with_floor(group.request, *profile, types));
  return raised;
}

ReadyJob head_of(const Ledger& ledger, const Job& job) {
  ReadyJob head{
      .job = job.id, .submitted_at = job.submitted_at, .tasks = job.listed, .served = job.served};
  if (ledger.ranks_of(job).empty()) return head;
  // Those that run know the others by their places.
  const bool begun = job.counts.active() > 0;
  head.raised = raised_ranks(ledger, job);
  for (const std::uint32_t rank : ledger.ready_ranks(job)) {
    head.ranks.push_back(head.raised
                             ? &(*head.raised)[position_of_rank(ledger.ranks_of(job), rank).group]
                             : &ledger.request_of(job, rank));
    if (begun) head.former.push_back(ledger.former_place({job.id, rank}));
    head.tries = std::max(head.tries, ledger.attempts_of({job.id, rank}));
  }
  head.tasks = static_cast<std::uint32_t>(head.ranks.size());
  return head;
}

// What a group asks for: several requests if it has several configurations, the best first.
void set_demand(const Ledger& ledger, const Group& group, std::span<const DeviceType> types,
                GroupView& view) {
  const Profile* profile = ledger.profile(group.key.kind);
  const auto demand_for = [&](const Request& request) {
    Demand demand = demand_of(request, profile, types);
    view.measure = demand.measure;
    return std::move(demand.request);
  };
  if (group.key.request.configurations.empty()) {
    view.request = demand_for(group.key.request);
    return;
  }
  for (const RankedConfiguration& one : rank_configurations(group, profile, ledger.nodes())) {
    // What no node has would only keep it from what there is; nobody waits for nothing, though.
    if (!one.usable && !view.choices.empty()) break;
    view.choices.push_back(demand_for(with_configuration(group.key.request, one.configuration)));
  }
  view.request = view.choices.front();
}

GroupView view_of(const Ledger& ledger, std::uint32_t index, const Expected& expected,
                  std::span<const DeviceType> types) {
  const Group& group = ledger.group(index);
  GroupView view{.group = index, .key = &group.key, .ready = group.ready_tasks};
  for (const JobId id : group.ready) {
    if (view.heads.size() == Snapshot::kHeads) break;
    view.heads.push_back(head_of(ledger, *ledger.find_job(id)));
  }
  view.recent_mean = expected.recent_mean;
  view.p50 = expected.p50;
  view.p90 = expected.p90;
  set_demand(ledger, group, types, view);
  return view;
}

// A run that has outlived its expectation is expected to go on for as long as it has already run.
TimePoint end_after(TimePoint start, Duration expected, TimePoint now) {
  const Duration ran = std::max(now - start, Duration(0));
  return expected.value == 0 ? TimePoint() : start + (ran < expected ? expected : ran * 2);
}

// The middle of what is left when half of the earlier runs were shorter; zero: nearly all were.
TimePoint likely_end(TimePoint start, const Expected& expected, TimePoint now) {
  const Duration ran = std::max(now - start, Duration(0));
  if (ran < expected.p50) return start + expected.p50;
  return ran < expected.p90 ? start + Duration((ran + expected.p90).value / 2) : TimePoint();
}

RunningView view_of(const GroupKey& key, const ActiveAttempt& attempt, const Expected& expected,
                    TimePoint now) {
  const TimePoint start = attempt.started_at ? attempt.started_at : attempt.placed_at;
  RunningView view{.node = attempt.allocation.node,
                   .lane = attempt.lane,
                   .task = attempt.id.task,
                   .allocation = &attempt.allocation,
                   .started_at = start};
  view.likely_end = likely_end(start, expected, now);
  view.bound_end = end_after(start, expected.p90, now);
  if (now < start + expected.p90) view.latest_end = view.bound_end;
  if (key.time_limit.value > 0) view.bound_end = view.latest_end = start + key.time_limit;
  if (!view.likely_end || view.latest_end < view.likely_end) view.likely_end = view.latest_end;
  return view;
}

// The waiting work as those see it who choose a device: at most kMostDemands kinds of it.
std::vector<DeviceDemand> demand_in(const std::vector<GroupView>& groups) {
  constexpr std::size_t kMostDemands = 8;
  std::vector<DeviceDemand> demand;
  double total = 0;
  for (const GroupView& view : groups) {
    if (view.request.devices.count == 0 || view.out_of_reach) continue;
    demand.push_back({view.request.devices, static_cast<double>(view.ready)});
    total += demand.back().weight;
  }
  std::stable_sort(demand.begin(), demand.end(), [](const DeviceDemand& a, const DeviceDemand& b) {
    return a.weight > b.weight;
  });
  if (demand.size() > kMostDemands) demand.resize(kMostDemands);
  for (DeviceDemand& one : demand) one.weight /= total;
  return demand;
}

// Who measures the kind of a group at present, and for how long yet.
void find_measurer(const Ledger& ledger, GroupView& view, TimePoint now) {
  const ActiveAttempt* attempt = ledger.measurer(view.key->kind);
  if (attempt == nullptr) return;
  view.measured_by = attempt->id.task.job;
  const Profile* profile = ledger.profile(view.key->kind);
  const Duration expected = profile == nullptr ? Duration() : profile->quantile(0.5);
  const TimePoint start = attempt->started_at ? attempt->started_at : attempt->placed_at;
  if (now < start + expected) view.measured_until = start + expected;
  if (!view.measured_until && view.key->time_limit.value > 0)
    view.measured_until = start + view.key->time_limit;
}

void find_measurers(const Ledger& ledger, Snapshot& snapshot) {
  for (GroupView& view : snapshot.groups) {
    if (view.measure) find_measurer(ledger, view, snapshot.now);
  }
}

constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

// What limits of their own leave to those groups that have some. Staged attempts count too.
void count_room(const Ledger& ledger, std::vector<GroupView>& groups) {
  std::vector<GroupView*> limited;
  std::unordered_map<std::string_view, std::size_t> position;
  for (GroupView& view : groups) {
    const std::vector<NodeLimit>& limits = ledger.group(view.group).node_limits;
    if (limits.empty()) continue;
    if (limited.empty()) {
      limited.resize(ledger.groups().size());
      for (const Node& node : ledger.nodes())
        if (node.state != Node::State::kGone) position[node.name] = node.id.value - 1;
    }
    view.room.assign(ledger.nodes().size(), kNoLimit);
    for (const NodeLimit& limit : limits)
      if (const auto it = position.find(limit.node); it != position.end())
        view.room[it->second] = limit.tasks;
    limited[view.group] = &view;
  }
  if (limited.empty()) return;
  for (const auto& [task, attempt] : ledger.active()) {
    GroupView* const view = limited[ledger.find_job(task.job)->group];
    if (view == nullptr) continue;
    std::uint32_t& room = view->room[attempt.allocation.node.value - 1];
    if (room != kNoLimit && room > 0) --room;
  }
}

void view_regrowing(const Ledger& ledger, Snapshot& snapshot) {
  for (const JobId id : ledger.regrowing()) {
    const Job& job = *ledger.find_job(id);
    snapshot.regrowing.emplace_back(job.group, head_of(ledger, job));
  }
}

// The groups whose oldest jobs are the oldest of all.
void view_oldest(const Ledger& ledger, Snapshot& snapshot) {
  const std::vector<DeviceType> types = device_types(snapshot.nodes);
  for (const auto& [head, index] : ledger.ready_groups()) {
    if (is_elastic(ledger.group(index).key.ranks)) continue;
    if (snapshot.groups.size() == Snapshot::kStrictGroups) {
      snapshot.beyond = head;
      break;
    }
    // How long anything runs, and who holds what, counts for nothing here.
    snapshot.groups.push_back(view_of(ledger, index, Expected(), types));
  }
  count_room(ledger, snapshot.groups);
  snapshot.demand = demand_in(snapshot.groups);
  view_regrowing(ledger, snapshot);
  find_measurers(ledger, snapshot);
}

// What the emptiest nodes have free, and what is known of whoever wants more.
class Hopeless {
 public:
  Hopeless(const Ledger& ledger, Ordering ordering) : ledger_(ledger), ordering_(ordering) {
    for (const Node& node : ledger.nodes()) {
      if (node.state != Node::State::kUp) continue;
      cpus_ = std::max(cpus_, node.free_cpus - node.foreign_cpus);
      memory_ = std::max(memory_, node.free_memory - node.foreign_memory);
    }
  }

  // Whether nothing of the group can start now, and all it can do is to be the first that waits.
  bool has(const Group& group) const {
    const Request& request = group.key.request;
    if (request.cpus <= cpus_ && request.memory <= memory_) return false;
    if (wants_devices(group.key) || !group.key.ranks.empty() || !group.node_limits.empty())
      return false;
    if (ordering_ != Ordering::kLas) return true;
    const Job& oldest = *ledger_.find_job(*group.ready.begin());
    return oldest.served == 0 && oldest.counts.active() == 0;
  }

 private:
  const Ledger& ledger_;
  const Ordering ordering_;
  MilliCpu cpus_;
  MiB memory_;
};

// The groups with ready tasks that are within reach, each row of them in the order in which its
// groups come: in fair order a row for each priority and account, else all by age.
using Rows = std::vector<std::vector<std::uint32_t>>;

Rows rows_in_reach(const Ledger& ledger, Ordering ordering) {
  if (ordering != Ordering::kFair) {
    // The job with the least work left may be anywhere.
    const bool all = ordering == Ordering::kSrtf;
    Rows rows(1);
    for (const auto& [head, index] : ledger.ready_groups()) {
      if (!all && rows[0].size() == Snapshot::kReach) break;
      rows[0].push_back(index);
    }
    return rows;
  }
  Rows rows(ledger.ready_by_turn().size());
  std::vector<Ledger::GroupsByAge::const_iterator> next;
  for (const auto& [turn, groups] : ledger.ready_by_turn()) next.push_back(groups.begin());
  std::size_t taken = 0;
  for (bool more = true; more && taken < Snapshot::kReach;) {
    more = false;
    std::size_t row = 0;
    for (const auto& [turn, groups] : ledger.ready_by_turn()) {
      const std::size_t own = row++;
      if (next[own] == groups.end() || (taken >= Snapshot::kReach && !rows[own].empty())) continue;
      rows[own].push_back((next[own]++)->second);
      ++taken;
      more = true;
    }
  }
  return rows;
}

// Only the first of a row that cannot start has room kept for it; the others could as well not be
// there. But who is staged comes before whoever is, so that then all count.
void leave_out_hopeless(const Ledger& ledger, Ordering ordering, Expectations& expected,
                        Rows& rows) {
  constexpr Duration kShort = milliseconds(100);  // no shorter than what is staged
  const auto& lanes = ledger.lanes();
  if (ordering == Ordering::kSrtf || std::any_of(lanes.begin(), lanes.end(), [](const auto& one) {
        return one.second.staged > 0;
      }))
    return;
  const auto is_short = [&](std::uint32_t index) {
    const Duration mean = expected.of(ledger.group(index).key.kind).recent_mean;
    return mean.value > 0 && mean < kShort;
  };
  for (const std::vector<std::uint32_t>& row : rows)
    if (std::any_of(row.begin(), row.end(), is_short)) return;
  const Hopeless hopeless(ledger, ordering);
  for (std::vector<std::uint32_t>& row : rows) {
    bool first = true;
    std::erase_if(row, [&](std::uint32_t index) {
      return hopeless.has(ledger.group(index)) && !std::exchange(first, false);
    });
  }
}

std::vector<std::uint32_t> ascending(const Rows& rows) {
  std::vector<std::uint32_t> all;
  for (const std::vector<std::uint32_t>& row : rows) all.insert(all.end(), row.begin(), row.end());
  std::sort(all.begin(), all.end());
  return all;
}

void view_groups(const Ledger& ledger, Reach reach, Expectations& expected, Snapshot& snapshot) {
  const std::vector<DeviceType> types = device_types(snapshot.nodes);
  Rows rows = rows_in_reach(ledger, snapshot.ordering);
  std::size_t near = 0;
  for (const std::vector<std::uint32_t>& row : rows) near += row.size();
  snapshot.more_groups = near < ledger.ready_groups().size();
  if (reach == Reach::kNear) leave_out_hopeless(ledger, snapshot.ordering, expected, rows);
  const std::vector<std::uint32_t> in_reach = ascending(rows);
  std::vector<std::uint32_t> shown = in_reach;
  if (snapshot.more_groups && reach == Reach::kAll) {
    shown.clear();
    for (const auto& [head, index] : ledger.ready_groups()) shown.push_back(index);
    std::sort(shown.begin(), shown.end());
  }
  snapshot.groups.reserve(shown.size());
  for (const std::uint32_t index : shown) {
    const Group& group = ledger.group(index);
    if (is_elastic(group.key.ranks)) continue;
    snapshot.groups.push_back(view_of(ledger, index, expected.of(group.key.kind), types));
    snapshot.groups.back().out_of_reach =
        !std::binary_search(in_reach.begin(), in_reach.end(), index);
    snapshot.held.push_back(ledger.held(group.key.account));
  }
}

}  // namespace

Snapshot snapshot_of(const Ledger& ledger, TimePoint now, Ordering ordering, Reach reach) {
  Snapshot snapshot{
      .now = now, .ordering = ordering, .nodes = ledger.nodes(), .usage = &ledger.usage()};
  if (ordering == Ordering::kFifo) {
    view_oldest(ledger, snapshot);
    return snapshot;
  }
  Expectations expected(ledger);
  view_groups(ledger, reach, expected, snapshot);
  count_room(ledger, snapshot.groups);
  snapshot.demand = demand_in(snapshot.groups);
  view_regrowing(ledger, snapshot);
  for (const auto& [task, attempt] : ledger.active()) {
    if (attempt.staged) continue;
    const GroupKey& key = ledger.group(ledger.find_job(task.job)->group).key;
    snapshot.running.push_back(view_of(key, attempt, expected.of(key.kind), now));
  }
  find_measurers(ledger, snapshot);
  // The table of attempts has no order of its own; a policy's input must.
  std::sort(snapshot.running.begin(), snapshot.running.end(),
            [](const RunningView& a, const RunningView& b) {
              return std::tie(a.node, a.lane, a.started_at, a.task) <
                     std::tie(b.node, b.lane, b.started_at, b.task);
            });
  for (const auto& [id, lane] : ledger.lanes()) {
    LaneView view{.lane = &lane};
    for (const TaskId& task : lane.backlog)
      view.staged_groups.push_back(ledger.find_job(task.job)->group);
    std::sort(view.staged_groups.begin(), view.staged_groups.end());
    view.staged_groups.erase(std::unique(view.staged_groups.begin(), view.staged_groups.end()),
                             view.staged_groups.end());
    snapshot.lanes.push_back(std::move(view));
  }
  return snapshot;
}

std::size_t add_as_ready(const Ledger& ledger, const Job& job, Snapshot& snapshot) {
  const auto is_its = [&](const GroupView& view) { return view.group == job.group; };
  auto it = std::find_if(snapshot.groups.begin(), snapshot.groups.end(), is_its);
  if (it == snapshot.groups.end()) {
    const GroupKey& key = ledger.group(job.group).key;
    it = snapshot.groups.insert(it, view_of(ledger, job.group, expected_of(ledger, key.kind),
                                            device_types(snapshot.nodes)));
    if (it->measure) find_measurer(ledger, *it, snapshot.now);
    snapshot.held.push_back(ledger.held(key.account));
    count_room(ledger, snapshot.groups);
  }
  ReadyJob head = head_of(ledger, job);
  head.tasks = job.counts[TaskState::kQueued];
  it->ready += head.tasks;
  const auto younger = std::find_if(it->heads.begin(), it->heads.end(),
                                    [&](const ReadyJob& one) { return one.job > job.id; });
  it->heads.insert(younger, std::move(head));
  return static_cast<std::size_t>(it - snapshot.groups.begin());
}

}  // namespace tutti
