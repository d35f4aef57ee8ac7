#pragma once

#include <boost/json/fwd.hpp>
#include <filesystem>

#include "base/result.h"
#include "cli/arguments.h"
#include "core/model/job_spec.h"

namespace tutti {

// Relative paths in a job file or a manifest mean places beside it, in `folder`: the work
// directory, the folder of results, and what a container is built from and sees.
void complete_paths(JobSpec& spec, const std::filesystem::path& folder);

// What the options say of resources, time, labels and variables, over what the groups of workers
// say. Options about GPUs are for those that want GPUs.
Result<void> apply_to_workers(const Arguments& arguments, JobSpec& spec);

// How many workers there are, as --workers says: of the job's one group, or of a new one.
Result<void> set_workers(const Arguments& arguments, boost::json::object& job);

// Takes out of a job with workers what apply_to_workers() has told each of them. At the job's own
// level it would be for all that do not say it, among them those that want no GPUs.
void drop_worker_fields(boost::json::object& job);

// Whether the job asks for labels, for itself or for workers.
bool wants_labels(const boost::json::object& job);

}  // namespace tutti
