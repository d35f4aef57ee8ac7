#pragma once

#include <boost/json/fwd.hpp>

#include "base/result.h"
#include "core/model/job_spec.h"

namespace tutti {

// The JSON form of a JobSpec, as POST /v1/jobs takes it: docs/api/openapi.yaml, schema JobSpec. Its
// field names are those of YAML job files.

// Strict: an unknown key is an error that names the nearest known one, a value of the wrong type or
// out of range an error that names its field. Does not fill `user`: that is who asks.
Result<JobSpec> spec_from_json(const boost::json::value& value);

// The reverse, without fields that have their default. Reading it again gives an equal spec, but
// for `user`, and for `env`, that of workers included, if it is left out.
boost::json::value spec_to_json(const JobSpec& spec, bool with_env);

}  // namespace tutti
