#include <algorithm>
#include <cmath>

#include "core/elastic/assign.h"
#include "core/elastic/policies.h"

namespace tutti {
namespace {

constexpr double kPower = -0.5;
constexpr double kWaiting = 1.1;
constexpr double kWorst = 3000;

// Sia: speeds relative to a job's slowest option, raised to −0.5; the sum over all jobs is made as
// small as it can be, a waiting job counts 1.1. A change of shape is discounted by the part of a
// job's life that restarts have cost.
class SiaPolicy : public ElasticPolicy {
 public:
  Choices decide(const ElasticSnapshot& snapshot) override {
    std::vector<std::uint32_t> capacities;
    for (const Pool& pool : snapshot.pools) capacities.push_back(pool.devices());
    std::vector<Bidder> bidders;
    for (const ElasticJob& job : snapshot.jobs) bidders.push_back(bidder_of(job, snapshot.now_s));
    return assign(capacities, bidders);
  }

 private:
  static Bidder bidder_of(const ElasticJob& job, double now_s) {
    Bidder bidder;
    bidder.current = job.current;
    bidder.pinned = job.starting && job.current;
    bidder.nothing = -kWaiting;
    double slowest = 0;
    for (const ShapeOption& option : job.options) {
      if (option.rate > 0) slowest = slowest > 0 ? std::min(slowest, option.rate) : option.rate;
    }
    const double age = now_s - job.submitted_s;
    const double lost = job.restarts * job.restart_s;
    const double keep = age < job.restart_s ? 1 : std::max(age - lost, 0.0) / (age + job.restart_s);
    for (std::size_t i = 0; i < job.options.size(); ++i) {
      const ShapeOption& option = job.options[i];
      double value = option.rate > 0 ? option.rate / slowest : 1e-4;
      if (job.current && job.current != i) value *= keep;
      const double cost = std::min(std::pow(std::max(value, 1e-12), kPower), kWorst);
      bidder.offers.push_back(
          {option.shape.pool, option.shape.devices, -std::round(cost * 100) / 100});
    }
    return bidder;
  }
};

}  // namespace

std::unique_ptr<ElasticPolicy> make_sia_policy() {
  return std::make_unique<SiaPolicy>();
}

}  // namespace tutti
