#include "core/policy/las.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace tutti {

Rank las_rank(const Snapshot& snapshot) {
  std::unordered_map<JobId, double> running;
  for (const RunningView& view : snapshot.running) {
    const Duration ran = std::max(snapshot.now - view.started_at, Duration(0));
    running[view.task.job] += static_cast<double>(ran.value) * 1e-6 *
                              static_cast<double>(weight_of(*view.allocation).value) * 1e-3;
  }
  return [running = std::move(running)](const GroupView&, const ReadyJob& job) {
    const auto now = running.find(job.job);
    const double served = job.served + (now == running.end() ? 0 : now->second);
    return served < kFirstStep ? 0 : 1 + std::floor(std::log2(served / kFirstStep));
  };
}

}  // namespace tutti
