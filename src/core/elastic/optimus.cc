#include <algorithm>
#include <numeric>

#include "core/elastic/policies.h"

namespace tutti {
namespace {

// Optimus: one device for each, then one more at a time for whom that saves the most time. Knows
// one pool; options are 1, 2, 3, … devices.
class OptimusPolicy : public ElasticPolicy {
 public:
  Choices decide(const ElasticSnapshot& snapshot) override {
    const std::size_t n = snapshot.jobs.size();
    std::uint32_t left = snapshot.pools[0].devices();
    std::vector<std::size_t> devices(n, 0);
    std::vector<double> gains(n, 0);
    for (std::size_t j = 0; j < n && left > 0; ++j) {
      devices[j] = 1;
      --left;
      gains[j] = left == 0 ? 0 : gain(snapshot.jobs[j], 1);
    }
    while (left > 0) {
      const auto most = std::max_element(gains.begin(), gains.end());
      if (most == gains.end() || *most <= 0) break;
      const auto j = static_cast<std::size_t>(most - gains.begin());
      ++devices[j];
      --left;
      *most = gain(snapshot.jobs[j], devices[j]);
    }
    Choices choices(n);
    for (std::size_t j = 0; j < n; ++j) {
      if (devices[j] > 0) choices[j] = devices[j] - 1;
    }
    order_.resize(n);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return devices[a] < devices[b]; });
    return choices;
  }

  std::vector<std::size_t> order() const override { return order_; }

 private:
  static double gain(const ElasticJob& job, std::size_t devices) {
    if (devices >= job.options.size()) return 0;
    return (1 / job.options[devices - 1].rate - 1 / job.options[devices].rate) *
           job.remaining.value_or(1);
  }

  std::vector<std::size_t> order_;
};

}  // namespace

std::unique_ptr<ElasticPolicy> make_optimus_policy() {
  return std::make_unique<OptimusPolicy>();
}

}  // namespace tutti
