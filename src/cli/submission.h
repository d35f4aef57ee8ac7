#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/job_request.h"
#include "cli/session.h"

namespace tutti {

// What the daemon said to a submission.
struct Submission {
  std::vector<std::uint64_t> ids;
  std::vector<std::uint64_t> builds;  // jobs that build images for them
};

// Sends jobs. With one job the object itself is the body, with several {"jobs": [...]}.
Result<Submission> submit_jobs(Session& session, const boost::json::array& jobs);

// Whether all attempts of a task write to the same file of this name, one over the other.
bool attempts_share(std::string_view pattern);

// Sends jobs with what they need: copies of work directories, and images that have to be built.
Result<Submission> submit_requests(Session& session, JobRequests& requests);

// Whether the daemon would take the jobs.
Result<void> check_jobs(Session& session, const JobRequests& requests);

// Asks what would become of the jobs, and prints it; the result is the exit status, which is all
// that is told with `quiet`.
int print_dry_run(Session& session, const JobRequests& requests, bool quiet);

}  // namespace tutti
