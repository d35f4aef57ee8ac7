#include <algorithm>
#include <numeric>

#include "core/elastic/policies.h"
#include "core/elastic/wanted.h"

namespace tutti {
namespace {

// What the job runs as, or the fastest of what its user asked for that fits.
std::optional<std::size_t> fitting_wanted(const ElasticJob& job, const FreeDevices& free,
                                          std::size_t pools) {
  if (job.current && free.fits(job.options[*job.current].shape)) return job.current;
  std::optional<std::size_t> best;
  for (std::uint32_t pool = 0; pool < pools; ++pool) {
    if (job.wanted_pool && *job.wanted_pool != pool) continue;
    const auto here = wanted_option(job, pool);
    if (!here || !free.fits(job.options[*here].shape)) continue;
    if (!best || job.options[*here].rate > job.options[*best].rate) best = here;
  }
  return best;
}

// Shortest remaining time first, with the devices that users asked for: those that end soonest get
// them, others are taken off. What does not fit is passed by smaller ones. A start counts as part
// of the time that a waiting job still needs, so that a running one is taken off only for one that
// ends sooner in spite of its start. A job of unknown length is expected to take as long as it
// already has. Remembers nothing.
class SrtfPolicy : public ElasticPolicy {
 public:
  Choices decide(const ElasticSnapshot& snapshot) override;
};

Choices SrtfPolicy::decide(const ElasticSnapshot& snapshot) {
  const auto& jobs = snapshot.jobs;
  Choices choices(jobs.size());
  FreeDevices free(snapshot);
  free.keep_starting(snapshot, choices);
  std::vector<double> left;
  for (const ElasticJob& job : jobs) {
    const auto option = job.current ? job.current : wanted_option(job);
    left.push_back(seconds_left(job, option, job.executed_s));
  }
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return left[a] < left[b]; });
  for (const std::size_t i : order) {
    if (choices[i]) continue;
    choices[i] = fitting_wanted(jobs[i], free, snapshot.pools.size());
    if (choices[i]) free.take(jobs[i].options[*choices[i]].shape);
  }
  return choices;
}

}  // namespace

std::unique_ptr<ElasticPolicy> make_srtf_policy() {
  return std::make_unique<SrtfPolicy>();
}

}  // namespace tutti
