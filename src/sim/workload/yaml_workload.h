#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/workload/workload.h"

namespace tutti {

// A workload that somebody wrote, and the cluster for it if it has one.
struct YamlWorkload {
  std::vector<NodeGroup> cluster;
  std::vector<WorkloadJob> jobs;  // as written, copies included
};

// Reads our own form, docs/user/simulate.md: `cluster:` with groups of nodes (name, nodes, cpus,
// mem, gpus, type, gpu_mem, labels) and `jobs:`, each with submit, runs, count, every, deadline,
// user, workers, labels and what job files say of resources. Either may be missing. Errors begin
// with FILE:LINE:COLUMN.
Result<YamlWorkload> parse_yaml_workload(std::string_view text, const std::string& file_name);

}  // namespace tutti
