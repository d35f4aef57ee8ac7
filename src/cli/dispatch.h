#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace tutti {

// Runs the verb that `words` (a command line without the program's name) ask for; the result is the
// exit status.
int dispatch(Session& session, const std::vector<std::string>& words);

}  // namespace tutti
