#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "core/lifecycle/ledger.h"
#include "core/model/ids.h"
#include "core/model/node.h"
#include "core/plan/demand.h"
#include "core/plan/ordering.h"

namespace tutti {

// A job's share of a group's ready tasks.
struct ReadyJob {
  JobId job;
  TimePoint submitted_at;
  std::uint32_t tasks = 0;
  // Of a gang: what each of its ready ranks wants; they start together or not at all.
  std::vector<const Request*> ranks;
  // Those of them that are not as the job says, because its kind has run out of device memory.
  std::shared_ptr<const std::vector<Request>> raised;
  // Of a gang of which others run: what each of these held before; null: nothing.
  std::vector<const Allocation*> former;
  std::uint32_t tries = 0;  // the number of its newest attempt
  double served = 0;        // core seconds (weight_of) of those of its attempts that ended
};

// A group as a policy sees it: what it wants, who waits, and what is known of how long it runs.
struct GroupView {
  std::uint32_t group = 0;
  const GroupKey* key = nullptr;
  // What it asks for once what was measured of its kind counts too.
  Request request;
  // Of a job with several configurations: what it asks for with each of them, the best first;
  // `request` is the first of these. Empty: `request` alone.
  std::vector<Request> choices;
  // Nothing is known of what it needs of a device: one task has to run alone and be measured.
  bool measure = false;
  // Too many come before it: it is not looked at in this pass.
  bool out_of_reach = false;
  JobId measured_by;         // the job whose task does so now; zero: none
  TimePoint measured_until;  // when that is expected to end; zero: unknown
  std::uint64_t ready = 0;
  // Of a job with limits of its own: how many more of its tasks each node may get, by position in
  // Snapshot::nodes. Empty: as many as fit.
  std::vector<std::uint32_t> room;
  std::vector<ReadyJob> heads;  // its oldest jobs; at most Snapshot::kHeads of them
  Duration recent_mean;         // zero: never measured
  Duration p50;                 // zero: never measured
  Duration p90;
  // The time after which it will have ended: its limit, else what was measured; zero: unknown.
  Duration bound() const { return key->time_limit.value > 0 ? key->time_limit : p90; }
};

// Something that holds resources, and when it is expected to give them back.
struct RunningView {
  NodeId node;
  LaneId lane;
  TaskId task;
  const Allocation* allocation = nullptr;
  TimePoint started_at;
  // For what is planned; zero: unknown. What has outlived its history is expected to go on for as
  // long again, so that it is not waited for at every moment.
  TimePoint bound_end;
  // For what is told: nothing is invented. Zero: unknown.
  TimePoint likely_end;
  TimePoint latest_end;
  bool outlasted() const { return bound_end && !latest_end; }
};

// A lane, and whose tasks are staged in it.
struct LaneView {
  const Lane* lane = nullptr;
  std::vector<std::uint32_t> staged_groups;  // each once, ascending
};

// The immutable view on which policies decide. It refers to the ledger and lives for one round.
struct Snapshot {
  static constexpr std::size_t kHeads = 8;
  // Of strict order no more groups are looked at in one pass.
  static constexpr std::size_t kStrictGroups = 4;
  // Of the others that go by age: the work of a pass must not follow the length of the queue.
  static constexpr std::size_t kReach = 4000;
  TimePoint now;
  Ordering ordering = Ordering::kFair;
  std::span<const Node> nodes;
  std::vector<GroupView> groups;  // those with ready tasks; not of elastic jobs
  bool more_groups = false;       // some are out of reach, whether they are there or not
  // Of strict order: the oldest ready job of the groups that were left out; zero: none was.
  JobId beyond;
  // Gangs of which some ranks run already: what is left of each, and its group.
  std::vector<std::pair<std::uint32_t, ReadyJob>> regrowing;
  std::vector<RunningView> running;
  std::vector<LaneView> lanes;
  std::vector<DeviceDemand> demand;  // what the groups want of devices, the largest part first
  const Usage* usage = nullptr;
  // What each group's account holds now (weight_of), by position in `groups`. Not of strict order.
  std::vector<MilliCpu> held;
};

// Whether groups that can only wait now, or are out of reach, are there, for who tells of them.
enum class Reach : std::uint8_t { kNear, kAll };

// In strict order (kFifo) only the oldest groups are there, and nothing of what runs: whoever does
// not fit waits, whatever ends when. Of more groups than kReach those are within reach that come
// first: of each priority and account the oldest, then the second of each, and so on. The plan is
// the same whether those are there that no node has room for, but for the first of them.
Snapshot snapshot_of(const Ledger& ledger, TimePoint now, Ordering ordering = Ordering::kFair,
                     Reach reach = Reach::kNear);

// Adds the queued tasks of a job that is not ready, and no gang, as if it were. Returns the
// position of its group.
std::size_t add_as_ready(const Ledger& ledger, const Job& job, Snapshot& snapshot);

}  // namespace tutti
