#include "core/elastic/tutti.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/elastic/assign.h"

namespace tutti {
namespace {

// How far ahead a change has to pay for itself: about so many arrivals and ends.
constexpr double kHorizonEvents = 3;
constexpr double kShortestHorizon = 150;
constexpr double kLongestHorizon = 6000;
// Speed-up of a job with k devices is taken as k^0.77 when jobs are ranked.
constexpr double kParallel = 0.77;
// How much the last part of a job's best speed is worth, against the first: less where the first
// parts of others, with their larger weights, could have it.
constexpr double kDiminishing = 0.7;
constexpr double kDiminishingUnranked = 0.85;
// The part of a restart that a start in a poor shape is going to cost later.
constexpr double kLaterRestart = 0.7;
constexpr double kLaterRestartUnranked = 0.5;
// A job that has waited this long, and for this part of its life, counts at least as the median one
// does. It cannot stop to have waited, so that it is not taken off again at once.
constexpr double kPatience = 1800;
constexpr double kPatientPart = 0.1;
// So does one that decides when everything is over: what is left of it takes so many times as long
// as all that is left of all jobs would take on all devices, and that is more than a day. With less
// to do, shorter jobs are soon out of its way.
constexpr double kCritical = 2;
constexpr double kBacklog = 86'400;

bool has_waited(const ElasticSnapshot& snapshot, const ElasticJob& job, double left_s) {
  const double waited = snapshot.now_s - job.submitted_s - job.executed_s;
  return waited > std::max(kPatience, kPatientPart * (job.executed_s + left_s));
}

// With an equal share of every pool, a device at least.
double rate_of_a_share(const ElasticSnapshot& snapshot, const ElasticJob& job) {
  const auto jobs = static_cast<double>(snapshot.jobs.size());
  double best = 0;
  for (const ShapeOption& option : job.options) {
    const double share = std::ceil(snapshot.pools[option.shape.pool].devices() / jobs);
    if (option.shape.devices <= std::max(1.0, share)) best = std::max(best, option.rate);
  }
  return best;
}

// How long all devices together would take for all that is left, each job in the shape that does
// most with its part of a pool.
double backlog_s(const ElasticSnapshot& snapshot) {
  double backlog = 0;
  for (const ElasticJob& job : snapshot.jobs) {
    double best = 0;
    for (const ShapeOption& option : job.options)
      best = std::max(
          best, option.rate / option.shape.devices * snapshot.pools[option.shape.pool].devices());
    if (job.remaining && job.known && best > 0) backlog += *job.remaining / best;
  }
  return backlog / static_cast<double>(snapshot.pools.size());
}

// From 1, much longer than all others, to as many as there are, much shorter: of a pair each gets
// its part by the squares of what is left. Jobs with about as much left have about the same rank.
// With strict ranks those that end last would end one after the other, and everything later.
std::vector<double> soft_ranks(const std::vector<double>& left) {
  const auto most = static_cast<double>(left.size());
  std::vector<double> ranks;
  for (const double mine : left) {
    ranks.push_back(most);
    if (mine <= 0) continue;
    double rank = 0.5;
    for (const double other : left) rank += other * other / (other * other + mine * mine);
    ranks.back() = std::clamp(rank, 1.0, most);
  }
  return ranks;
}

double weight_of_rank(double rank) {
  constexpr double kMarginal = 1 / (1 - kParallel);
  return std::pow(std::pow(rank, kMarginal) - std::pow(rank - 1, kMarginal), 1 / kMarginal);
}

// What equal shares of all pools would have done of each job.
class FairProgress {
 public:
  void advance(const ElasticSnapshot& snapshot) {
    std::map<JobId, Progress> jobs;
    for (const ElasticJob& job : snapshot.jobs) {
      if (!job.remaining) continue;
      const auto known = jobs_.find(job.id);
      Progress& progress = jobs[job.id];
      if (known != jobs_.end()) {
        progress = known->second;
        if (job.known) progress.done += rate_of_a_share(snapshot, job) * (snapshot.now_s - last_s_);
      }
      progress.whole = std::max(progress.whole, *job.remaining);
    }
    jobs_ = std::move(jobs);
    last_s_ = snapshot.now_s;
  }

  // What they would have left of it; no more than there is.
  double left(const ElasticJob& job) const {
    const Progress& progress = jobs_.at(job.id);
    return std::clamp(progress.whole - progress.done, 0.0, *job.remaining);
  }

 private:
  struct Progress {
    double whole = 0;  // the most that was ever left
    double done = 0;
  };
  std::map<JobId, Progress> jobs_;
  double last_s_ = 0;
};

// How much a job counts: those with little left count more, by their rank, so that none counts for
// nothing. What an equal share would have left of it counts, so that a job comes the nearer to its
// turn the longer it gets less than that. Without declared lengths all count the same.
std::vector<double> weights_of(const ElasticSnapshot& snapshot, const std::vector<double>& best,
                               const FairProgress& fair) {
  std::vector<double> weights(snapshot.jobs.size(), 1);
  std::vector<std::size_t> declared;
  std::vector<double> left;
  for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
    const ElasticJob& job = snapshot.jobs[j];
    if (!job.remaining) continue;
    declared.push_back(j);
    // What nobody has measured yet comes first: others will learn from it.
    left.push_back(job.known ? fair.left(job) / best[j] : 0);
  }
  const std::vector<double> ranks = soft_ranks(left);
  const double median = std::ceil(static_cast<double>(declared.size()) / 2);
  const double backlog = backlog_s(snapshot);
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const ElasticJob& job = snapshot.jobs[declared[i]];
    const double left_s = job.known ? *job.remaining / best[declared[i]] : 0;
    const bool is_critical = backlog > kBacklog && left_s > kCritical * backlog;
    const bool counts_more = is_critical || has_waited(snapshot, job, left_s);
    weights[declared[i]] = weight_of_rank(counts_more ? std::max(ranks[i], median) : ranks[i]);
  }
  return weights;
}

class TuttiPolicy : public ElasticPolicy {
 public:
  explicit TuttiPolicy(const TuttiSettings& settings) : settings_(settings) {}

  Choices decide(const ElasticSnapshot& snapshot) override {
    const double horizon =
        std::clamp(kHorizonEvents * 3600 / std::max(snapshot.events_per_hour, 1.0),
                   kShortestHorizon, kLongestHorizon);
    std::vector<double> best;
    for (const ElasticJob& job : snapshot.jobs) best.push_back(reference_rate(job));
    const bool ranked = settings_.ranks && any_declared(snapshot);
    if (ranked) fair_.advance(snapshot);
    const std::vector<double> weights =
        ranked ? weights_of(snapshot, best, fair_) : std::vector<double>(snapshot.jobs.size(), 1);
    const Terms terms =
        ranked ? Terms{horizon, kDiminishing, kLaterRestart, settings_.amortises}
               : Terms{horizon, kDiminishingUnranked, kLaterRestartUnranked, settings_.amortises};
    std::vector<std::uint32_t> capacities;
    for (const Pool& pool : snapshot.pools) capacities.push_back(pool.devices());
    std::vector<Bidder> bidders;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
      bidders.push_back(bidder_of(snapshot.jobs[j], weights[j], best[j], terms));
    return assign(capacities, bidders);
  }

 private:
  struct Terms {
    double horizon;
    double diminishing;
    double later_restart;
    bool amortises;
  };

  static bool any_declared(const ElasticSnapshot& snapshot) {
    return std::any_of(snapshot.jobs.begin(), snapshot.jobs.end(),
                       [](const ElasticJob& job) { return job.remaining.has_value(); });
  }

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

  static Bidder bidder_of(const ElasticJob& job, double weight, double best, const Terms& terms) {
    Bidder bidder;
    bidder.current = job.current;
    bidder.pinned = job.starting && job.current;
    const auto worth = [&](double rate) {
      return weight * std::pow(rate / best, terms.diminishing);
    };
    for (std::size_t i = 0; i < job.options.size(); ++i) {
      const ShapeOption& option = job.options[i];
      double value = worth(option.rate);
      if (terms.amortises && option.rate > 0 && job.current != i) {
        const double lasts =
            job.remaining ? std::min(terms.horizon, *job.remaining / option.rate) : terms.horizon;
        const double poor = terms.later_restart * std::max(0.0, 1 - option.rate / best);
        value *= lasts / (lasts + job.restart_s * (job.current ? 1 : poor));
      }
      bidder.offers.push_back({option.shape.pool, option.shape.devices, value});
    }
    if (job.current)
      bidder.nothing = -worth(job.options[*job.current].rate) * job.restart_s / terms.horizon;
    return bidder;
  }

  TuttiSettings settings_;
  FairProgress fair_;
};

}  // namespace

std::unique_ptr<ElasticPolicy> make_tutti_policy(const TuttiSettings& settings) {
  return std::make_unique<TuttiPolicy>(settings);
}

}  // namespace tutti
