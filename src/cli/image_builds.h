#pragma once

#include "base/result.h"
#include "cli/job_request.h"
#include "cli/session.h"

namespace tutti {

// Names each image that a job has built by what it is built from, so that the same content is built
// once.
Result<void> name_built_images(JobRequests& requests);

// For each such image that this machine does not have: submits a job that builds it, after whose
// success the job that wants it starts. Jobs that go to other machines are left alone: there it is
// built where they start. The result are the jobs that build.
Result<std::vector<std::uint64_t>> submit_builds(Session& session, JobRequests& requests);

}  // namespace tutti
