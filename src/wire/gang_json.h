#pragma once

#include <boost/json/fwd.hpp>
#include <vector>

#include "base/result.h"
#include "core/model/job_spec.h"

namespace tutti {

// The JSON of the workers of a job and of its container: docs/api/openapi.yaml, schemas WorkerGroup
// and Container. As strict as spec_from_json().

// Each group begins with what the job says for all, `request`.
Result<std::vector<WorkerGroup>> workers_from_json(const boost::json::value& value,
                                                   const Request& request);
// Over what is in `container` already.
Result<void> read_container(const boost::json::value& value, Container& container);

boost::json::value workers_to_json(const std::vector<WorkerGroup>& workers, bool with_env);
boost::json::value container_to_json(const Container& container);

}  // namespace tutti
