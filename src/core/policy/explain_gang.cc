#include "core/policy/explain_gang.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/policy/decide.h"
#include "core/policy/fair_order.h"
#include "core/policy/forecast.h"
#include "core/policy/gang_placement.h"
#include "core/policy/lacks.h"

namespace tutti {
namespace {

// What keeps a rank from being one of those that are to start next; false: nothing does.
bool explain_unready(const Ledger& ledger, const Job& job, const std::vector<std::uint32_t>& ready,
                     Explanation& answer) {
  if (job.restarting) {
    answer.reasons.push_back({.code = ReasonCode::kRestarting, .job = job.id});
    answer.basis = "not known: it starts with the others when they have stopped";
    return true;
  }
  if (is_elastic(ledger.ranks_of(job))) {
    answer.reasons.push_back({.code = ReasonCode::kShape});
    answer.basis = "not known: it depends on what other jobs have left to do";
    return true;
  }
  if (std::binary_search(ready.begin(), ready.end(), answer.task)) return false;
  for (std::uint32_t rank = 0; rank < job.tasks.count; ++rank) {
    const TimePoint until = ledger.not_before({job.id, rank});
    if (!until || job.counts.active() > 0) continue;
    answer.reasons.push_back({.code = ReasonCode::kBackoff, .until = until});
    answer.expected_start_p50 = answer.expected_start_p90 = until;
    answer.basis = "the end of its back-off, if there is room then";
    return true;
  }
  const std::vector<RankGroup>& groups = ledger.ranks_of(job);
  const RankGroup& group = groups[position_of_rank(groups, answer.task).group];
  answer.reasons.push_back({.code = ReasonCode::kArrayLimit, .count = group.parallel});
  answer.remedies.push_back("the end of one of its job's running tasks");
  return true;
}

const ReadyJob* find_gang(const Snapshot& snapshot, JobId job) {
  for (const auto& [group, gang] : snapshot.regrowing) {
    if (gang.job == job) return &gang;
  }
  for (const GroupView& view : snapshot.groups) {
    for (const ReadyJob& head : view.heads) {
      if (head.job == job) return &head;
    }
  }
  return nullptr;
}

// The first rank that finds no room, and what the best node lacks for it.
void add_missing_rank(const Ledger& ledger, const Snapshot& snapshot, const ReadyJob& gang,
                      Explanation& answer) {
  const std::vector<Allocation> placed =
      place_together(snapshot.nodes, gang.ranks, {.demand = snapshot.demand});
  if (placed.size() == gang.ranks.size()) return;
  answer.reasons.push_back({.code = ReasonCode::kRanks,
                            .wanted = static_cast<std::int64_t>(gang.ranks.size()),
                            .available = static_cast<std::int64_t>(placed.size())});
  const Request& missing = *gang.ranks[placed.size()];
  const Node* node = best_node(ledger, missing);
  if (node == nullptr) {
    answer.reasons.push_back({.code = ReasonCode::kNodes, .detail = closed_nodes(ledger, missing)});
    return;
  }
  Node later = *node;
  for (const Allocation& one : placed) {
    if (one.node == later.id) reserve(later, one);
  }
  add_lacks(later, missing, answer.reasons);
}

void add_order(const Snapshot& snapshot, const Job& job, Explanation& answer) {
  const auto it = std::find_if(snapshot.groups.begin(), snapshot.groups.end(),
                               [&](const GroupView& view) { return view.group == job.group; });
  if (it == snapshot.groups.end()) return;
  std::uint64_t older = 0;
  for (const ReadyJob& head : it->heads) older += head.job < job.id ? head.tasks : 0;
  const auto position = static_cast<std::size_t>(it - snapshot.groups.begin());
  const Ahead ahead = ahead_of(snapshot, position, older);
  if (ahead.tasks > 0)
    answer.reasons.push_back(
        {.code = ReasonCode::kBehind, .job = ahead.first, .count = ahead.tasks});
}

bool is_started(const Plan& plan, JobId gang) {
  return std::any_of(plan.gangs.begin(), plan.gangs.end(),
                     [&](const GangStart& one) { return one.job == gang; });
}

}  // namespace

void explain_rank(const Ledger& ledger, const Job& job, TimePoint now, Explanation& answer) {
  if (explain_unready(ledger, job, ledger.ready_ranks(job), answer)) return;
  const Snapshot snapshot = snapshot_of(ledger, now, Ordering::kFair, Reach::kAll);
  const Plan plan = decide(snapshot);
  const bool starts = is_started(plan, job.id);
  if (!starts) add_order(snapshot, job, answer);
  const ReadyJob* gang = find_gang(snapshot, job.id);
  if (gang == nullptr) {
    answer.basis = "not known: too many gangs of its kind wait before it";
    return;
  }
  add_missing_rank(ledger, snapshot, *gang, answer);
  if (!starts && plan.reservation && plan.reservation->group != job.group && answer.reasons.empty())
    answer.reasons.push_back(
        {.code = ReasonCode::kReserved,
         .job = *ledger.group(plan.reservation->group).ready.begin(),
         .node = ledger.find_node(plan.reservation->parts.front().node)->name});
  if (answer.reasons.empty()) answer.reasons.push_back({.code = ReasonCode::kStarting});
  const auto likely =
      room_for_gang(snapshot, snapshot.nodes, gang->ranks, &RunningView::likely_end);
  const auto bound = room_for_gang(snapshot, snapshot.nodes, gang->ranks, &RunningView::latest_end);
  if (likely && likely->at && bound && bound->at) {
    answer.expected_start_p50 = likely->at;
    answer.expected_start_p90 = std::max(likely->at, bound->at);
    answer.basis = "time limits and measured run times of what runs";
  } else {
    answer.basis = unknown_basis(snapshot, "something that runs");
  }
}

}  // namespace tutti
