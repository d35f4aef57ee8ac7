#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "core/model/job_spec.h"

namespace tutti {

// The fields of a job whose value is one piece of text, by the names that job files and JSON use
// and that flags have with dashes: name, project, kind, array, max_parallel, cpus, mem, gpus,
// gpu_mem, gpu_util, priority, time, grace, retries, backoff, workdir, output, error, share,
// gpu_policy.
std::span<const std::string_view> scalar_fields();

// Sets one of them from its text; a number stands here as it was written. What is stated becomes a
// limit (limit_cpus, limit_memory). Fails on an unknown field and on text that cannot be read.
Result<void> set_field(JobSpec& spec, std::string_view field, std::string_view text);

}  // namespace tutti
