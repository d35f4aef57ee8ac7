#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/machines/machines.h"
#include "cli/session.h"
#include "core/plan/slots.h"

namespace tutti {

// A machine of a batch: its node and what it can take now.
struct PoolMachine {
  std::string given;  // the user's word for it
  std::string node;
  Slots slots;
  FreeMachine free;
};

// Makes nodes of the machines that are none yet, measures all and counts what fits. A machine that
// cannot be used is said and left out; an error if none is left.
Result<std::vector<PoolMachine>> gather_machines(Session& session,
                                                 const std::vector<NamedMachine>& machines,
                                                 const SlotNeed& need);

// "machine limits:  {'a.yaml': 2}" and "machine gpu choices: [[0, 1]]".
std::string limits_text(const std::vector<PoolMachine>& machines);

// The part of `need` that the scheduler is to count for each job, so that as many run at once as
// were counted: compute may be overbooked a little.
SlotNeed fitted(const SlotNeed& need, const std::vector<PoolMachine>& machines);

}  // namespace tutti
