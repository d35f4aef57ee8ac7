#include "core/elastic/policies.h"
#include "core/elastic/wanted.h"

namespace tutti {
namespace {

// First come, first served: a job gets the devices that its user asked for, in the order of
// submission, and keeps them until it ends. One that does not fit holds back those behind it that
// ask for the same pool. One that asks for no pool takes the pool in which it is fastest. Remembers
// nothing.
class FifoPolicy : public ElasticPolicy {
 public:
  Choices decide(const ElasticSnapshot& snapshot) override;
};

Choices FifoPolicy::decide(const ElasticSnapshot& snapshot) {
  Choices choices(snapshot.jobs.size());
  FreeDevices free(snapshot);
  free.keep_running(snapshot, choices);
  std::vector<bool> blocked(snapshot.pools.size());
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    const auto option = choices[i] ? std::nullopt : wanted_option(snapshot.jobs[i]);
    if (!option) continue;
    const Shape& shape = snapshot.jobs[i].options[*option].shape;
    if (!free.fits(shape)) blocked[shape.pool] = true;
    if (blocked[shape.pool]) continue;
    free.take(shape);
    choices[i] = option;
  }
  return choices;
}

}  // namespace

std::unique_ptr<ElasticPolicy> make_fifo_policy() {
  return std::make_unique<FifoPolicy>();
}

}  // namespace tutti
