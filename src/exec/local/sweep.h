#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "exec/local/keeper_process.h"

namespace tutti {

// Ends every process that a dead keeper has left: those with its mark in their environment, those
// of the given sessions, those in its control groups. Returns when none is alive; false: some could
// not be ended within half a minute. For any thread; knows nothing of attempts.
bool sweep(const KeeperRecord& keeper, const std::vector<pid_t>& sessions);

// Carries out the clean-up commands of attempts whose keeper died before it could, all at once, and
// gives them half a minute together.
void run_cleanups(const std::string& home);

}  // namespace tutti
