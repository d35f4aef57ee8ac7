#pragma once

#include <sys/types.h>

#include <vector>

#include "exec/local/keeper_process.h"

namespace tutti {

// Ends every process that a dead keeper has left: those with its mark in their environment, those
// of the given sessions, those in its control groups. Returns when none is alive; false: some could
// not be ended within half a minute. For any thread; knows nothing of attempts.
bool sweep(const KeeperRecord& keeper, const std::vector<pid_t>& sessions);

}  // namespace tutti
