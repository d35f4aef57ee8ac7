#pragma once

#include <string>

#include "cli/output/screen.h"
#include "core/model/job_spec.h"

namespace tutti {

// The ranks of a gang before it has a place: a line about the whole, then one for each rank with
// its group and what it wants.
std::string render_ranks(const JobSpec& spec, const Screen& screen);

}  // namespace tutti
