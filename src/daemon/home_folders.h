#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tutti {

// Creates the home folder and those below it that the daemon needs, private to the user.
Result<void> make_home(const std::string& home);

// For a database that is new, and begins with the numbers of an earlier one's jobs: their output
// would be overwritten, and theirs be the work directories of the new. Gives both folders other
// names, which are returned. kConflict while a keeper still runs jobs of that database.
Result<std::vector<std::string>> set_former_jobs_aside(const std::string& home);

}  // namespace tutti
