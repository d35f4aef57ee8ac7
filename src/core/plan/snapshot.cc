#include "core/plan/snapshot.h"

#include <algorithm>
#include <tuple>

namespace tutti {
namespace {

// Fewer samples than this say nothing about a kind's next run.
constexpr std::uint64_t kEnoughSamples = 3;

GroupView view_of(const Ledger& ledger, std::uint32_t index) {
  const Group& group = ledger.group(index);
  GroupView view{.group = index, .key = &group.key, .ready = group.ready_tasks};
  for (const JobId id : group.ready) {
    if (view.heads.size() == Snapshot::kHeads) break;
    const Job& job = *ledger.find_job(id);
    view.heads.push_back({id, job.submitted_at, job.listed});
  }
  const Profile* profile = ledger.profile(group.key.kind);
  if (profile != nullptr && profile->samples() >= kEnoughSamples) {
    view.recent_mean = profile->recent_mean();
    view.p50 = profile->quantile(0.5);
    view.p90 = profile->quantile(0.9);
  }
  return view;
}

// A run that has outlived its expectation is expected to go on for as long as it has already run.
TimePoint end_after(TimePoint start, Duration expected, TimePoint now) {
  const Duration ran = std::max(now - start, Duration(0));
  return expected.value == 0 ? TimePoint() : start + (ran < expected ? expected : ran * 2);
}

RunningView view_of(const Ledger& ledger, const ActiveAttempt& attempt, TimePoint now) {
  const GroupKey& key = ledger.group(ledger.find_job(attempt.id.task.job)->group).key;
  const TimePoint start = attempt.started_at ? attempt.started_at : attempt.placed_at;
  RunningView view{.node = attempt.allocation.node,
                   .lane = attempt.lane,
                   .request = &key.request,
                   .allocation = &attempt.allocation,
                   .started_at = start};
  const Profile* profile = ledger.profile(key.kind);
  if (profile != nullptr && profile->samples() >= kEnoughSamples) {
    view.likely_end = end_after(start, profile->quantile(0.5), now);
    view.bound_end = end_after(start, profile->quantile(0.9), now);
  }
  if (key.time_limit.value > 0) view.bound_end = start + key.time_limit;
  if (!view.likely_end) view.likely_end = view.bound_end;
  return view;
}

}  // namespace

Snapshot snapshot_of(const Ledger& ledger, TimePoint now) {
  Snapshot snapshot{.now = now, .nodes = ledger.nodes(), .usage = &ledger.usage()};
  for (std::uint32_t index = 0; index < ledger.groups().size(); ++index) {
    if (ledger.group(index).ready_tasks == 0) continue;
    snapshot.groups.push_back(view_of(ledger, index));
    snapshot.held_cpus.push_back(ledger.held_cpus(ledger.group(index).key.account));
  }
  for (const auto& [task, attempt] : ledger.active()) {
    if (!attempt.staged) snapshot.running.push_back(view_of(ledger, attempt, now));
  }
  // The table of attempts has no order of its own; a policy's input must.
  std::sort(snapshot.running.begin(), snapshot.running.end(),
            [](const RunningView& a, const RunningView& b) {
              return std::tie(a.node, a.lane, a.started_at, a.bound_end) <
                     std::tie(b.node, b.lane, b.started_at, b.bound_end);
            });
  for (const auto& [id, lane] : ledger.lanes()) snapshot.lanes.push_back(&lane);
  return snapshot;
}

}  // namespace tutti
