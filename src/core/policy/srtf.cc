#include "core/policy/srtf.h"

#include <limits>

namespace tutti {

Rank srtf_rank() {
  return [](const GroupView& view, const ReadyJob& job) {
    const Duration each = view.p50.value > 0 ? view.p50 : view.bound();
    if (each.value == 0) return std::numeric_limits<double>::infinity();
    // The ranks of a gang run beside each other.
    const double tasks = job.ranks.empty() ? static_cast<double>(job.tasks) : 1.0;
    return static_cast<double>(each.value) * 1e-6 * tasks;
  };
}

}  // namespace tutti
