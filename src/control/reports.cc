// What the controller makes of reports: what is news in them becomes events.
#include <algorithm>
#include <map>

#include "control/controller.h"

namespace tutti {
namespace {

// A node's clock may be wrong or jump: what it tells is moved, by as little as possible, to where
// it can have been by ours.
TimePoint between(TimePoint first, TimePoint told, TimePoint last) {
  return std::max(first, std::min(told, last));
}

}  // namespace

void Controller::take(const std::vector<Report>& reports) {
  // A short task's start and end arrive together: the end says it all.
  std::set<AttemptId> ended;
  for (const Report& report : reports) {
    if (const auto* end = std::get_if<AttemptEnded>(&report)) ended.insert(end->attempt);
  }
  for (const Report& report : reports) {
    const auto* start = std::get_if<AttemptStarted>(&report);
    if (start != nullptr && ended.contains(start->attempt)) continue;
    std::visit([this](const auto& one) { take_one(one); }, report);
  }
}

void Controller::take_one(const AttemptStarted& started) {
  const ActiveAttempt* attempt = ledger_.find_active(started.attempt.task);
  leave_barrier(started.attempt, false);
  if (attempt == nullptr || attempt->id != started.attempt || attempt->started_at) return;
  AttemptStarted ours = started;
  ours.started_at = between(attempt->placed_at, started.started_at, now_);
  record(ours);
}

void Controller::take_one(const AttemptEnded& ended) {
  ended_.push_back(ended.attempt);
  recalled_.erase(ended.attempt);
  if (!ledger_.is_current(ended.attempt)) return;
  const ActiveAttempt& attempt = *ledger_.find_active(ended.attempt.task);
  AttemptEnded ours = ended;
  if (ended.started_at) {
    const Duration ran = std::max(ended.ended_at - ended.started_at, Duration(0));
    ours.started_at = attempt.started_at ? attempt.started_at
                                         : between(attempt.placed_at, ended.started_at, now_ - ran);
    ours.ended_at = ours.started_at + ran;
  } else {
    ours.ended_at = between(attempt.placed_at, ended.ended_at, now_);
  }
  explain_end(attempt, ours.outcome);
  record(ours);
}

void Controller::take_one(const NodeChanged& changed) {
  if (const Node* known = ledger_.find_node(changed.node.id)) {
    if (known->state == Node::State::kGone) return;
    Node before = *known;
    Node after = changed.node;
    // What is free and whether a user drained it are the ledger's business.
    after.free_cpus = before.free_cpus;
    after.free_memory = before.free_memory;
    after.jobs = before.jobs;
    // The limit and the key may have changed since the executor was told of the node.
    after.max_jobs = before.max_jobs;
    after.remote = before.remote;
    after.state = before.state;
    after.state_reason = before.state_reason;
    carry_over_devices(before.devices, after.devices);
    refuse_devices_of_others(after);
    if (before == after) return;
    record(NodeChanged{after});
    return;
  }
  record(changed);
}

// A machine may have been added twice, by names of which only ssh knows that they are one. Its GPUs
// then belong to the node that has shown them first.
void Controller::refuse_devices_of_others(Node& node) const {
  constexpr std::string_view kBelongs = "belongs to node ";
  if (node.remote.address.empty()) return;
  for (Device& device : node.devices) {
    // Where a driver tells no number of the card, its place on the bus stands for it.
    if (device.uuid.starts_with("PCI-")) continue;
    for (const Node& other : ledger_.nodes()) {
      const auto same =
          std::find_if(other.devices.begin(), other.devices.end(), [&](const Device& one) {
            return one.uuid == device.uuid && !one.trouble.starts_with(kBelongs);
          });
      if (other.id == node.id || other.state == Node::State::kGone || same == other.devices.end())
        continue;
      device.healthy = false;
      device.trouble = std::string(kBelongs) + other.name + ", which is the same machine";
    }
  }
}

void Controller::take_one(const NodeStateChanged& changed) {
  const Node* node = ledger_.find_node(changed.node);
  // One that a user drains, or has removed, stays so.
  if (node == nullptr || node->state == Node::State::kDraining || node->state == Node::State::kGone)
    return;
  if ((node->state != changed.state || node->state_reason != changed.reason)) record(changed);
}

// An attempt may use more of a device than it was granted as long as that hurts nobody: then more
// is reserved for it. If it leaves its neighbours less than they were granted, it has to go, and
// comes back with a larger request.
void Controller::take_one(const AttemptMeasured& measured) {
  const ActiveAttempt* attempt = ledger_.find_active(measured.attempt.task);
  if (attempt == nullptr || attempt->id != measured.attempt) return;
  const auto& grants = attempt->allocation.devices;
  const auto grant = std::find_if(grants.begin(), grants.end(), [&](const DeviceGrant& one) {
    return one.id == measured.device;
  });
  if (grant == grants.end() || measured.memory <= grant->memory) return;
  const MiB granted = grant->memory;
  const NodeId node = attempt->allocation.node;
  record(measured);
  const Device& device = ledger_.find_node(node)->devices.at(measured.device.value);
  const std::string message = "uses " + std::to_string(measured.memory.value) + " MiB of GPU " +
                              std::to_string(measured.device.value) + ", but was granted " +
                              std::to_string(granted.value) + " MiB";
  effects_.emplace_back(WarnAttempt{measured.attempt, node, message});
  const bool crowded =
      device.holders > 1 && device.reserved_memory + device.foreign > device.memory;
  if (!crowded || attempt->stop_cause != Ending::kExited ||
      ledger_.find_job(measured.attempt.task.job)->lease)
    return;
  record(StopOrdered{measured.attempt, Ending::kDeviceOutOfMemory});
  effects_.emplace_back(StopAttempt{measured.attempt, node, Ending::kDeviceOutOfMemory});
}

void Controller::take_one(const Inventory& inventory) {
  for (const AttemptStarted& started : inventory.running) take_one(started);
  std::set<AttemptId> known(inventory.staged.begin(), inventory.staged.end());
  for (const AttemptStarted& started : inventory.running) known.insert(started.attempt);
  const std::set<NodeId> nodes(inventory.nodes.begin(), inventory.nodes.end());

  std::map<TaskId, ActiveAttempt> active;
  for (const auto& [task, attempt] : ledger_.active()) {
    if (nodes.contains(attempt.allocation.node)) active.emplace(task, attempt);
  }
  for (const auto& [task, attempt] : active) {
    if (known.contains(attempt.id)) {
      if (attempt.stop_cause != Ending::kExited)
        effects_.emplace_back(StopAttempt{attempt.id, attempt.allocation.node, attempt.stop_cause});
    } else if (inventory.same_incarnation && !attempt.started_at) {
      // The order was journalled and never arrived.
      order_start({attempt.id, attempt.lane, attempt.staged, attempt.allocation},
                  places_of(task.job));
    } else {
      Outcome lost{.ending = Ending::kLost};
      lost.message = "whoever ran it is gone and left no result";
      ended_.push_back(attempt.id);
      record(AttemptEnded{attempt.id, attempt.started_at, now_, lost, !attempt.staged});
    }
  }
  for (const AttemptId& attempt : known) {
    const ActiveAttempt* held = ledger_.find_active(attempt.task);
    if ((held == nullptr || held->id != attempt) && !inventory.nodes.empty())
      effects_.emplace_back(StopAttempt{attempt, inventory.nodes.front(), Ending::kCancelled});
  }
}

}  // namespace tutti
