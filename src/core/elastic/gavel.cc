#include <algorithm>
#include <map>
#include <tuple>

#include "core/elastic/max_min_shares.h"
#include "core/elastic/policies.h"
#include "core/elastic/wanted.h"

namespace tutti {
namespace {

// Everybody is taken to have had so much before counting begins: half a round.
constexpr double kHadBefore = 180;
// Who is owed more than this does not wait for equals that run.
constexpr double kMostOwed = 3600;

// A job in a pool, and how much it is due to run there.
struct DuePair {
  std::size_t job = 0;
  std::size_t option = 0;
  double priority = 0;
  double owed_s = 0;
  bool current = false;
};

Sharer sharer_of(const ElasticJob& job, const std::vector<Pool>& pools) {
  Sharer sharer{std::vector<double>(pools.size()), std::vector<double>(pools.size())};
  double devices = 0;
  double equal = 0;
  for (const Pool& pool : pools) devices += pool.devices();
  for (std::uint32_t p = 0; p < pools.size(); ++p) {
    const auto option = wanted_option(job, p);
    if (!option || job.options[*option].shape.devices > pools[p].devices()) continue;
    sharer.devices[p] = job.options[*option].shape.devices;
    sharer.speed[p] = job.options[*option].rate;
    equal += sharer.speed[p] * pools[p].devices() / devices;
  }
  for (double& speed : sharer.speed) speed *= equal > 0 ? job.wanted / equal : 0;
  return sharer;
}

// Gavel's max-min fairness over unlike devices. Each job has one option in each pool: the devices
// that its user asked for.
//  1. When jobs have come or gone, shares are found anew: which part of its time each job spends in
//     each pool, such that the smallest speed of any job, counted in its speed with an equal share
//     of all pools and per device asked for, is as large as possible.
//  2. Each round, the pairs of job and pool with the largest share ÷ time that the job has had
//     there run first; of equals, what runs now, unless much is owed to another. When shares are
//     found anew counting begins anew, and what was due and not had until then is owed.
//  3. Devices that are idle then go to waiting jobs in the order of submission.
// Remembers shares and times. Weighs no price of changes: its author's simulator has none.
class GavelPolicy : public ElasticPolicy {
 public:
  Choices decide(const ElasticSnapshot& snapshot) override;

 private:
  // What a job is due and what it has had, pool by pool.
  struct Account {
    std::vector<double> share;
    std::vector<double> received_s;  // since counting began
    std::vector<double> owed_s;      // what was due before and not had
    bool present = false;
  };
  void count_time(const ElasticSnapshot& snapshot);
  void share_anew(const ElasticSnapshot& snapshot);
  void count_anew();

  std::map<JobId, Account> accounts_;
  double last_s_ = 0;
  double counted_from_s_ = 0;
};

void GavelPolicy::count_time(const ElasticSnapshot& snapshot) {
  const double passed = snapshot.now_s - last_s_;
  last_s_ = snapshot.now_s;
  for (const ElasticJob& job : snapshot.jobs) {
    const auto account = accounts_.find(job.id);
    if (account == accounts_.end() || !job.current) continue;
    account->second.received_s[job.options[*job.current].shape.pool] += passed;
  }
}

void GavelPolicy::count_anew() {
  const double passed = last_s_ - counted_from_s_;
  counted_from_s_ = last_s_;
  for (auto& [id, account] : accounts_) {
    for (std::size_t p = 0; p < account.received_s.size(); ++p) {
      const double due = account.share.empty() ? 0 : account.share[p] * passed;
      account.owed_s[p] += due - account.received_s[p];
      account.received_s[p] = 0;
    }
  }
}

void GavelPolicy::share_anew(const ElasticSnapshot& snapshot) {
  for (auto& [id, account] : accounts_) account.present = false;
  bool changed = false;
  for (const ElasticJob& job : snapshot.jobs) {
    const auto [account, fresh] = accounts_.try_emplace(job.id);
    account->second.present = true;
    if (fresh) {
      account->second.received_s.resize(snapshot.pools.size());
      account->second.owed_s.resize(snapshot.pools.size());
    }
    changed = changed || fresh;
  }
  changed = std::erase_if(accounts_, [](const auto& a) { return !a.second.present; }) || changed;
  if (!changed) return;
  count_anew();
  std::vector<Sharer> sharers;
  std::vector<double> capacity;
  for (const ElasticJob& job : snapshot.jobs) sharers.push_back(sharer_of(job, snapshot.pools));
  for (const Pool& pool : snapshot.pools) capacity.push_back(pool.devices());
  auto shares = max_min_shares(sharers, capacity);
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i)
    accounts_[snapshot.jobs[i].id].share = std::move(shares[i]);
}

Choices GavelPolicy::decide(const ElasticSnapshot& snapshot) {
  count_time(snapshot);
  share_anew(snapshot);
  const auto& jobs = snapshot.jobs;
  std::vector<DuePair> due;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Account& account = accounts_[jobs[i].id];
    for (std::uint32_t p = 0; p < snapshot.pools.size(); ++p) {
      const auto option = wanted_option(jobs[i], p);
      if (!option) continue;
      const double received = account.received_s[p] + kHadBefore;
      due.push_back(
          {i, *option, account.share[p] / received, account.owed_s[p], jobs[i].current == option});
    }
  }
  const auto rank = [](const DuePair& one) {
    return std::tuple(one.priority, one.owed_s > kMostOwed, one.current, one.owed_s);
  };
  std::stable_sort(due.begin(), due.end(),
                   [&](const DuePair& a, const DuePair& b) { return rank(a) > rank(b); });
  Choices choices(jobs.size());
  FreeDevices free(snapshot);
  free.keep_starting(snapshot, choices);
  // Pairs without a share stand last, in the order of submission: they fill what is idle.
  for (const DuePair& pair : due) {
    const Shape& shape = jobs[pair.job].options[pair.option].shape;
    if (choices[pair.job] || !free.fits(shape)) continue;
    choices[pair.job] = pair.option;
    free.take(shape);
  }
  return choices;
}

}  // namespace

std::unique_ptr<ElasticPolicy> make_gavel_policy() {
  return std::make_unique<GavelPolicy>();
}

}  // namespace tutti
