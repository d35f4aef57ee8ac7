#pragma once

#include <vector>

namespace tutti {

// A job that divides its time between pools. In pool p it needs `devices[p]` and progresses with
// `speed[p]`; zero: it does not run there. Speeds are such that fairness means equal sums.
struct Sharer {
  std::vector<double> devices;
  std::vector<double> speed;
};

// Which part of its time each sharer spends in each pool, such that the smallest sum of speed ×
// part is as large as possible (within about two percent), nobody spends more than all of his time,
// and no pool gives more than its devices. Prices of pools are raised where too much is asked for
// and lowered elsewhere, each sharer answers with the cheapest way to a common speed, and the mean
// of the answers is the division.
std::vector<std::vector<double>> max_min_shares(const std::vector<Sharer>& sharers,
                                                const std::vector<double>& capacity);

}  // namespace tutti
