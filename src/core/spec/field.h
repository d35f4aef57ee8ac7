#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "core/model/job_spec.h"

namespace tutti {

// The fields of a job whose value is one piece of text, by the names that job files and JSON use
// and that flags have with dashes: name, project, kind, array, max_parallel, cpus, mem, gpus,
// gpu_mem, gpu_util, priority, time, grace, retries, backoff, workdir, output, error, share,
// gpu_policy, framework, start_timeout, image.
std::span<const std::string_view> scalar_fields();

// Sets one of them from its text; a number stands here as it was written. What is stated becomes a
// limit (limit_cpus, limit_memory). Fails on an unknown field and on text that cannot be read.
Result<void> set_field(JobSpec& spec, std::string_view field, std::string_view text);

// The same of one group of workers: name, count, parallel, replica, ports, failure, shm, and of the
// above cpus, mem, gpus, gpu_mem, gpu_util, share, gpu_policy and time.
std::span<const std::string_view> worker_fields();
Result<void> set_worker_field(WorkerGroup& group, std::string_view field, std::string_view text);

// A group of workers of which nothing is said yet but what is said of all: one rank that wants what
// the job wants, and a port.
WorkerGroup new_worker_group(const Request& request);

// "failFast", "continue", "restartWorker(3)", "minSucceeded(2)".
Result<FailureRule> parse_failure_rule(std::string_view text);
// The names that framework_name() gives; also "tensorflow", "batchjob" and "kuberay".
Result<Framework> parse_framework(std::string_view text);

}  // namespace tutti
