#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "cli/output/screen.h"
#include "core/model/job_spec.h"

namespace tutti {

// The ranks of a gang before it has a place: a line about the whole, then one for each rank with
// its group and what it wants.
std::string render_ranks(const JobSpec& spec, const Screen& screen);

// Lines of a block: what the gang is, and what the ranks of each group want.
std::string render_groups(const JobSpec& spec);

// The ranks of a gang as a dry run placed them, and the variables that they get: those that all
// share once, the others of each.
std::string render_plan(const boost::json::array& plan, const Screen& screen);

}  // namespace tutti
