#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/elastic/assign.h"
#include "core/elastic/policies.h"

namespace tutti {
namespace {

// How far ahead a change has to pay for itself: about so many arrivals and ends.
constexpr double kHorizonEvents = 3;
constexpr double kShortestHorizon = 150;
constexpr double kLongestHorizon = 6000;
// Speed-up of a job with k devices is taken as k^0.6 when jobs are ranked.
constexpr double kParallel = 0.6;
// How much the last part of a job's best speed is worth, against the first.
constexpr double kDiminishing = 0.7;
// The part of a restart that a start in a poor shape is going to cost later.
constexpr double kLaterRestart = 0.5;
// A job that has waited this long, and for this part of its life, counts at least as the median one
// does. It cannot stop to have waited, so that it is not taken off again at once.
constexpr double kPatience = 1800;
constexpr double kPatientPart = 0.1;

// How much a job counts: those with little left count more, by their rank, so that none counts for
// nothing. Without declared lengths all count the same.
std::vector<double> weights_of(const ElasticSnapshot& snapshot, const std::vector<double>& best) {
  const std::size_t n = snapshot.jobs.size();
  std::vector<double> weights(n, 1);
  std::vector<std::size_t> ranked;
  std::vector<double> left(n, 0);
  for (std::size_t j = 0; j < n; ++j) {
    const ElasticJob& job = snapshot.jobs[j];
    if (!job.remaining) continue;
    // What nobody has measured yet comes first: others will learn from it.
    left[j] = job.known ? *job.remaining / best[j] : 0;
    ranked.push_back(j);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](std::size_t a, std::size_t b) { return left[a] > left[b]; });
  const double m = 1 / (1 - kParallel);
  const auto weight = [m](double rank) {
    return std::pow(std::pow(rank, m) - std::pow(rank - 1, m), 1 / m);
  };
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const ElasticJob& job = snapshot.jobs[ranked[i]];
    double rank = static_cast<double>(i + 1);
    const double waited = snapshot.now_s - job.submitted_s - job.executed_s;
    if (waited > std::max(kPatience, kPatientPart * (job.executed_s + left[ranked[i]])))
      rank = std::max(rank, std::ceil(static_cast<double>(ranked.size()) / 2));
    weights[ranked[i]] = weight(rank);
  }
  return weights;
}

// Every job's speed counts as a part of its best one, weighted by rank; a change of shape has to
// earn what it costs before the next one is likely.
class TuttiPolicy : public ElasticPolicy {
 public:
  Choices decide(const ElasticSnapshot& snapshot) override {
    const double horizon =
        std::clamp(kHorizonEvents * 3600 / std::max(snapshot.events_per_hour, 1.0),
                   kShortestHorizon, kLongestHorizon);
    std::vector<double> best;
    for (const ElasticJob& job : snapshot.jobs) best.push_back(reference_rate(job));
    const std::vector<double> weights = weights_of(snapshot, best);
    std::vector<std::uint32_t> capacities;
    for (const Pool& pool : snapshot.pools) capacities.push_back(pool.devices());
    std::vector<Bidder> bidders;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
      bidders.push_back(bidder_of(snapshot.jobs[j], weights[j], best[j], horizon));
    return assign(capacities, bidders);
  }

 private:
  // The best speed on one node: what is predicted beyond may be a dream.
  static double reference_rate(const ElasticJob& job) {
    double best = 0;
    double best_anywhere = 0;
    for (const ShapeOption& option : job.options) {
      if (option.shape.nodes == 1) best = std::max(best, option.rate);
      best_anywhere = std::max(best_anywhere, option.rate);
    }
    return best > 0 ? best : std::max(best_anywhere, 1e-12);
  }

  static Bidder bidder_of(const ElasticJob& job, double weight, double best, double horizon) {
    Bidder bidder;
    bidder.current = job.current;
    bidder.pinned = job.starting && job.current;
    const auto worth = [&](double rate) { return weight * std::pow(rate / best, kDiminishing); };
    for (std::size_t i = 0; i < job.options.size(); ++i) {
      const ShapeOption& option = job.options[i];
      double value = worth(option.rate);
      if (option.rate > 0 && job.current != i) {
        const double lasts =
            job.remaining ? std::min(horizon, *job.remaining / option.rate) : horizon;
        const double poor = kLaterRestart * std::max(0.0, 1 - option.rate / best);
        value *= lasts / (lasts + job.restart_s * (job.current ? 1 : poor));
      }
      bidder.offers.push_back({option.shape.pool, option.shape.devices, value});
    }
    if (job.current)
      bidder.nothing = -worth(job.options[*job.current].rate) * job.restart_s / horizon;
    return bidder;
  }
};

}  // namespace

std::unique_ptr<ElasticPolicy> make_tutti_policy() {
  return std::make_unique<TuttiPolicy>();
}

}  // namespace tutti
