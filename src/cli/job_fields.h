#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "base/result.h"
#include "cli/arguments.h"

namespace tutti {

// Writes what the job and resource options say into a job object of the API, over what is there.
// Values that are text in the API stay text: their meaning is checked with the whole job.
Result<void> apply_job_options(const Arguments& arguments, boost::json::object& job);

// The path of a work directory without any links; an error if it is none.
Result<std::string> absolute_folder(const std::string& folder);

// "12:any, 13" -> each part in its place; used for --after.
boost::json::array dependencies_of(const Arguments& arguments);

}  // namespace tutti
