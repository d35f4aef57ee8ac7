#include "core/elastic/assign.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace tutti {
namespace {

constexpr std::size_t kMostStates = 60'000;
constexpr std::size_t kMostWork = 40'000'000;
constexpr std::uint8_t kNothing = 255;

// Offers that another one of the same pool beats, with no more devices and no less value, are of no
// use; nor are those that are worth less than nothing.
std::vector<std::size_t> useful_offers(const Bidder& bidder,
                                       std::span<const std::uint32_t> capacities) {
  std::vector<std::size_t> useful;
  for (std::size_t i = 0; i < bidder.offers.size(); ++i) {
    const Offer& one = bidder.offers[i];
    if (one.devices > capacities[one.pool]) continue;
    const bool keeps = bidder.current == i;
    if (bidder.pinned) {
      if (keeps) useful.push_back(i);
      continue;
    }
    if (one.value <= bidder.nothing && !keeps) continue;
    bool beaten = false;
    for (std::size_t k = 0; k < bidder.offers.size() && !beaten; ++k) {
      const Offer& other = bidder.offers[k];
      if (k == i || other.pool != one.pool || other.devices > one.devices) continue;
      const bool same = other.value == one.value && other.devices == one.devices;
      beaten = other.value >= one.value && (!same || k < i);
    }
    if (!beaten || keeps) useful.push_back(i);
  }
  return useful;
}

// Dynamic programme over the jobs; a state is how many devices of each pool are left to use.
class ExactSolver {
 public:
  explicit ExactSolver(std::span<const std::uint32_t> capacities)
      : capacities_(capacities.begin(), capacities.end()) {
    strides_.resize(capacities_.size());
    states_ = 1;
    for (std::size_t p = capacities_.size(); p-- > 0;) {
      strides_[p] = states_;
      states_ *= capacities_[p] + 1;
    }
  }

  std::size_t states() const { return states_; }

  Choices solve(const std::vector<Bidder>& bidders,
                const std::vector<std::vector<std::size_t>>& useful) {
    best_.assign(states_, 0);
    std::vector<std::vector<std::uint8_t>> taken(bidders.size());
    for (std::size_t j = 0; j < bidders.size(); ++j) {
      add(bidders[j], useful[j], taken[j]);
    }
    Choices choices(bidders.size());
    std::size_t state = states_ - 1;
    for (std::size_t j = bidders.size(); j-- > 0;) {
      const std::uint8_t what = taken[j][state];
      if (what == kNothing) continue;
      const std::size_t offer = useful[j][what];
      choices[j] = offer;
      const Offer& one = bidders[j].offers[offer];
      state -= one.devices * strides_[one.pool];
    }
    return choices;
  }

 private:
  void add(const Bidder& bidder, const std::vector<std::size_t>& useful,
           std::vector<std::uint8_t>& taken) {
    taken.assign(states_, kNothing);
    next_.resize(states_);
    const double nothing = bidder.pinned && !useful.empty()
                               ? -std::numeric_limits<double>::infinity()
                               : bidder.nothing;
    for (std::size_t s = 0; s < states_; ++s) next_[s] = best_[s] + nothing;
    for (std::size_t k = 0; k < useful.size(); ++k) {
      const Offer& one = bidder.offers[useful[k]];
      const std::size_t stride = strides_[one.pool];
      const std::size_t row = stride * (capacities_[one.pool] + 1);
      const std::size_t shift = one.devices * stride;
      // The states of a row are those in which this pool has 0, 1, … devices left.
      for (std::size_t base = 0; base < states_; base += row) {
        for (std::size_t s = base + shift; s < base + row; ++s) {
          const double value = best_[s - shift] + one.value;
          if (value <= next_[s]) continue;
          next_[s] = value;
          taken[s] = static_cast<std::uint8_t>(k);
        }
      }
    }
    best_.swap(next_);
  }

  std::vector<std::uint32_t> capacities_;
  std::vector<std::size_t> strides_;
  std::size_t states_ = 0;
  std::vector<double> best_;
  std::vector<double> next_;
};

// Looks for prices at which the jobs want about as much as there is, and repairs what they want
// then.
class PriceSolver {
 public:
  PriceSolver(std::span<const std::uint32_t> capacities, const std::vector<Bidder>& bidders)
      : capacities_(capacities.begin(), capacities.end()),
        bidders_(bidders),
        prices_(capacities.size(), 0) {
    for (const Bidder& bidder : bidders) useful_.push_back(useful_offers(bidder, capacities));
  }

  Choices solve() {
    keep_best(repaired(current()));
    for (int round = 0; round < kRounds; ++round) {
      Choices wanted = wishes();
      const std::vector<std::int64_t> use = used(wanted);
      const bool sold_out = adjust_prices(wanted, use);
      const bool due = round % kRepairEvery == 0 && nearly_fits(use);
      if (sold_out || due || round + 1 == kRounds) keep_best(repaired(std::move(wanted)));
      if (sold_out) break;
    }
    swap_pairs(best_);
    return best_;
  }

 private:
  static constexpr int kRounds = 90;
  static constexpr int kRepairEvery = 3;
  static constexpr double kLeastStep = 1e-9;
  static constexpr double kNearly = 1.2;
  static constexpr std::size_t kMostForPairs = 96;

  double value(std::size_t j, const std::optional<std::size_t>& choice) const {
    return choice ? bidders_[j].offers[*choice].value : bidders_[j].nothing;
  }

  std::vector<std::int64_t> used(const Choices& choices) const {
    std::vector<std::int64_t> use(capacities_.size(), 0);
    for (std::size_t j = 0; j < choices.size(); ++j) count(use, j, choices[j], 1);
    return use;
  }

  void count(std::vector<std::int64_t>& use, std::size_t j,
             const std::optional<std::size_t>& choice, int sign) const {
    if (!choice) return;
    const Offer& one = bidders_[j].offers[*choice];
    use[one.pool] += sign * static_cast<std::int64_t>(one.devices);
  }

  // Little has to be repaired: that takes long, and leads to good plans.
  bool nearly_fits(const std::vector<std::int64_t>& use) const {
    for (std::size_t p = 0; p < use.size(); ++p)
      if (static_cast<double>(use[p]) > kNearly * capacities_[p]) return false;
    return true;
  }

  Choices current() const {
    Choices choices;
    for (const Bidder& bidder : bidders_) choices.push_back(bidder.current);
    return choices;
  }

  Choices wishes() const {
    Choices wanted(bidders_.size());
    for (std::size_t j = 0; j < bidders_.size(); ++j) {
      double best = bidders_[j].nothing;
      if (bidders_[j].pinned && !useful_[j].empty())
        best = -std::numeric_limits<double>::infinity();
      for (const std::size_t i : useful_[j]) {
        const Offer& one = bidders_[j].offers[i];
        const double net = one.value - prices_[one.pool] * one.devices;
        if (net <= best) continue;
        best = net;
        wanted[j] = i;
      }
    }
    return wanted;
  }

  // Raises the prices of what is wanted too much and lowers those of what is left. At any prices
  // the wishes, paid for, and the price of all devices together are worth no less than the best
  // plan; the step is as long as would take that down to the best plan so far (Polyak). True: what
  // is wanted fits, and what is left costs nothing, so that no plan is better.
  bool adjust_prices(const Choices& wanted, const std::vector<std::int64_t>& use) {
    double bound = 0;
    for (std::size_t j = 0; j < wanted.size(); ++j) bound += value(j, wanted[j]);
    double square = 0;
    std::vector<double> over(prices_.size());
    for (std::size_t p = 0; p < prices_.size(); ++p) {
      over[p] = static_cast<double>(use[p]) - capacities_[p];
      bound -= prices_[p] * over[p];
      if (prices_[p] > 0 || over[p] > 0) square += over[p] * over[p];
    }
    if (square == 0) return true;
    const double step = std::max(bound - best_sum_, kLeastStep) / square;
    for (std::size_t p = 0; p < prices_.size(); ++p)
      prices_[p] = std::max(0.0, prices_[p] + step * over[p]);
    return false;
  }

  // Takes devices from whom they are worth least until no pool gives too many, then gives what is
  // left to whom it is worth most.
  Choices repaired(Choices choices) const {
    std::vector<std::int64_t> use = used(choices);
    for (std::size_t p = 0; p < capacities_.size(); ++p) {
      while (use[p] > capacities_[p] && shrink(choices, use, p)) {
      }
    }
    fill(choices, use);
    return choices;
  }

  struct Change {
    std::size_t job = 0;
    std::optional<std::size_t> choice;
    double worth = -std::numeric_limits<double>::infinity();
  };

  bool fits(const std::vector<std::int64_t>& use, std::size_t j, const Choices& choices,
            const std::optional<std::size_t>& choice) const {
    if (!choice) return true;
    const Offer& one = bidders_[j].offers[*choice];
    std::int64_t there = use[one.pool];
    if (choices[j] && bidders_[j].offers[*choices[j]].pool == one.pool)
      there -= bidders_[j].offers[*choices[j]].devices;
    return there + one.devices <= static_cast<std::int64_t>(capacities_[one.pool]);
  }

  void apply(Choices& choices, std::vector<std::int64_t>& use, const Change& change) const {
    count(use, change.job, choices[change.job], -1);
    choices[change.job] = change.choice;
    count(use, change.job, choices[change.job], 1);
  }

  // The change that frees devices of the pool at the smallest loss for each.
  bool shrink(Choices& choices, std::vector<std::int64_t>& use, std::size_t pool) const {
    Change best;
    for (std::size_t j = 0; j < choices.size(); ++j) {
      if (!choices[j] || bidders_[j].pinned) continue;
      const Offer& has = bidders_[j].offers[*choices[j]];
      if (has.pool != pool) continue;
      const auto consider = [&](std::optional<std::size_t> choice, double freed) {
        const double worth = (value(j, choice) - has.value) / freed;
        if (worth > best.worth) best = {j, choice, worth};
      };
      consider(std::nullopt, has.devices);
      for (const std::size_t i : useful_[j]) {
        const Offer& one = bidders_[j].offers[i];
        if (one.pool == pool && one.devices < has.devices) consider(i, has.devices - one.devices);
        if (one.pool != pool && fits(use, j, choices, i)) consider(i, has.devices);
      }
    }
    if (best.worth == -std::numeric_limits<double>::infinity()) return false;
    apply(choices, use, best);
    return true;
  }

  void fill(Choices& choices, std::vector<std::int64_t>& use) const {
    for (int sweep = 0; sweep < 4; ++sweep) {
      std::vector<Change> changes;
      for (std::size_t j = 0; j < choices.size(); ++j) {
        if (bidders_[j].pinned) continue;
        const std::int64_t has = choices[j] ? bidders_[j].offers[*choices[j]].devices : 0;
        for (const std::size_t i : useful_[j]) {
          const double gain = value(j, i) - value(j, choices[j]);
          if (gain <= 1e-12 || !fits(use, j, choices, i)) continue;
          const double more = std::max<double>(
              static_cast<double>(bidders_[j].offers[i].devices) - static_cast<double>(has), 0.25);
          changes.push_back({j, i, gain / more});
        }
      }
      if (changes.empty()) return;
      std::stable_sort(changes.begin(), changes.end(),
                       [](const Change& a, const Change& b) { return a.worth > b.worth; });
      std::vector<bool> changed(choices.size(), false);
      for (const Change& one : changes) {
        if (changed[one.job] || !fits(use, one.job, choices, one.choice)) continue;
        apply(choices, use, one);
        changed[one.job] = true;
      }
    }
  }

  // What two jobs could have together that is worth more than what they have.
  void swap_pairs(Choices& choices) const {
    if (bidders_.size() > kMostForPairs) return;
    std::vector<std::int64_t> use = used(choices);
    for (int sweep = 0; sweep < 2; ++sweep) {
      bool better = false;
      for (std::size_t a = 0; a < choices.size(); ++a) {
        for (std::size_t b = a + 1; b < choices.size(); ++b)
          better = swap_pair(choices, use, a, b) || better;
      }
      if (!better) return;
    }
  }

  bool swap_pair(Choices& choices, std::vector<std::int64_t>& use, std::size_t a,
                 std::size_t b) const {
    if (bidders_[a].pinned || bidders_[b].pinned) return false;
    const std::optional<std::size_t> a_has = choices[a];
    const std::optional<std::size_t> b_has = choices[b];
    double best = value(a, a_has) + value(b, b_has) + 1e-9;
    std::optional<std::pair<Change, Change>> found;
    count(use, a, a_has, -1);
    count(use, b, b_has, -1);
    const auto room = [&](const std::optional<std::size_t>& choice, std::size_t j) {
      if (!choice) return true;
      const Offer& one = bidders_[j].offers[*choice];
      return use[one.pool] + one.devices <= static_cast<std::int64_t>(capacities_[one.pool]);
    };
    const auto try_b = [&](const std::optional<std::size_t>& a_takes,
                           const std::optional<std::size_t>& b_takes) {
      const double sum = value(a, a_takes) + value(b, b_takes);
      if (sum <= best || !room(b_takes, b)) return;
      best = sum;
      found = {{a, a_takes, 0}, {b, b_takes, 0}};
    };
    const auto try_a = [&](const std::optional<std::size_t>& a_takes) {
      if (!room(a_takes, a)) return;
      count(use, a, a_takes, 1);
      try_b(a_takes, std::nullopt);
      for (const std::size_t i : useful_[b]) try_b(a_takes, i);
      count(use, a, a_takes, -1);
    };
    try_a(std::nullopt);
    for (const std::size_t i : useful_[a]) try_a(i);
    if (found) {
      choices[a] = found->first.choice;
      choices[b] = found->second.choice;
    }
    count(use, a, choices[a], 1);
    count(use, b, choices[b], 1);
    return found.has_value();
  }

  void keep_best(Choices choices) {
    double sum = 0;
    for (std::size_t j = 0; j < choices.size(); ++j) sum += value(j, choices[j]);
    if (!best_.empty() && sum <= best_sum_ + 1e-9) return;
    best_ = std::move(choices);
    best_sum_ = sum;
  }

  std::vector<std::uint32_t> capacities_;
  const std::vector<Bidder>& bidders_;
  std::vector<std::vector<std::size_t>> useful_;
  std::vector<double> prices_;
  Choices best_;
  double best_sum_ = 0;
};

}  // namespace

Choices assign_by_prices(std::span<const std::uint32_t> capacities,
                         const std::vector<Bidder>& bidders) {
  return PriceSolver(capacities, bidders).solve();
}

Choices assign(std::span<const std::uint32_t> capacities, const std::vector<Bidder>& bidders) {
  ExactSolver exact(capacities);
  std::vector<std::vector<std::size_t>> useful;
  std::size_t offers = 0;
  for (const Bidder& bidder : bidders) {
    useful.push_back(useful_offers(bidder, capacities));
    offers += useful.back().size() + 1;
  }
  if (exact.states() <= kMostStates && exact.states() * offers <= kMostWork)
    return exact.solve(bidders, useful);
  return assign_by_prices(capacities, bidders);
}

}  // namespace tutti
