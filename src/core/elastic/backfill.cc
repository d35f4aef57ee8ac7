#include <algorithm>
#include <limits>

#include "core/elastic/policies.h"
#include "core/elastic/wanted.h"

namespace tutti {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Devices of a pool that are kept for the first job that did not fit.
struct Promise {
  double in_s = kNever;     // when the job can start
  std::uint32_t spare = 0;  // devices that it leaves free then
};

// When running jobs will have left so many devices of the pool as `shape` needs.
Promise promise(const ElasticSnapshot& snapshot, const Choices& choices, const Shape& shape,
                std::uint32_t free) {
  struct End {
    double in_s;
    std::uint32_t devices;
  };
  std::vector<End> ends;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (!choices[i]) continue;
    const Shape& has = snapshot.jobs[i].options[*choices[i]].shape;
    if (has.pool == shape.pool)
      ends.push_back({seconds_left(snapshot.jobs[i], choices[i], kNever), has.devices});
  }
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.in_s < b.in_s; });
  Promise made;
  for (const End& end : ends) {
    free += end.devices;
    if (free < shape.devices) continue;
    made.in_s = end.in_s;
    made.spare = free - shape.devices;
    break;
  }
  return made;
}

// First come, first served, with the devices that users asked for, and EASY backfilling: the first
// job of a pool that does not fit is promised a start, and those behind it may begin now if that
// does not delay it. A job of unknown length delays whatever needs its devices. Remembers nothing.
class BackfillPolicy : public ElasticPolicy {
 public:
  Choices decide(const ElasticSnapshot& snapshot) override;
};

Choices BackfillPolicy::decide(const ElasticSnapshot& snapshot) {
  Choices choices(snapshot.jobs.size());
  FreeDevices free(snapshot);
  free.keep_running(snapshot, choices);
  std::vector<std::optional<Promise>> promises(snapshot.pools.size());
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    const ElasticJob& job = snapshot.jobs[i];
    const auto option = choices[i] ? std::nullopt : wanted_option(job);
    if (!option) continue;
    const Shape& shape = job.options[*option].shape;
    std::optional<Promise>& promised = promises[shape.pool];
    if (!free.fits(shape)) {
      if (!promised) promised = promise(snapshot, choices, shape, free.of(shape.pool));
      continue;
    }
    if (promised && seconds_left(job, option, kNever) >= promised->in_s) {
      if (shape.devices > promised->spare) continue;
      promised->spare -= shape.devices;
    }
    free.take(shape);
    choices[i] = option;
  }
  return choices;
}

}  // namespace

std::unique_ptr<ElasticPolicy> make_backfill_policy() {
  return std::make_unique<BackfillPolicy>();
}

}  // namespace tutti
