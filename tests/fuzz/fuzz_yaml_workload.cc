// Workloads in YAML: whatever the text, jobs and a cluster or an error with a place. Invariants:
// the answer depends on the text alone; every job says how long it runs; every group has nodes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "sim/workload/yaml_workload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = parse_yaml_workload(text, "f.yaml");
  if (!read) {
    TUTTI_CHECK(read.error().message.starts_with("f.yaml:"));
    TUTTI_CHECK(read.error().message.find('\n') == std::string::npos);
    return 0;
  }
  std::size_t nodes = 0;
  for (const NodeGroup& group : read->cluster) nodes += group.count;
  if (nodes < 1000) TUTTI_CHECK(nodes_of(read->cluster).size() == nodes);
  for (const WorkloadJob& job : read->jobs) {
    TUTTI_CHECK(!job.runs.empty() && !job.spec.name.empty());
    TUTTI_CHECK(job.submit.value >= 0);
  }
  return 0;
}
