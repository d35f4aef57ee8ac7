#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace tutti {

// Starts a program, searched in PATH, with the words as they are, these descriptors as its standard
// ones (negative: /dev/null) and every signal as usual. `own_session`: apart from this one's.
// kNotFound if there is no such program.
Result<pid_t> spawn(const std::vector<std::string>& argv, int in, int out, int err,
                    bool own_session);

}  // namespace tutti
