#include "core/model/usage.h"

#include <cmath>

namespace tutti {
namespace {

double decayed(const UsageRecord& record, TimePoint now) {
  // A clock that jumped backwards must not make use grow.
  const Duration elapsed = std::max(now - record.as_of, Duration(0));
  return record.cpu_seconds * std::exp2(-static_cast<double>(elapsed.value) /
                                        static_cast<double>(Usage::kHalfLife.value));
}

}  // namespace

void Usage::charge(const Account& account, double cpu_seconds, TimePoint now) {
  UsageRecord& record = records_[account];
  record.account = account;
  record.cpu_seconds = decayed(record, now) + cpu_seconds;
  record.as_of = now;
}

double Usage::of(const Account& account, TimePoint now) const {
  const auto it = records_.find(account);
  return it == records_.end() ? 0 : decayed(it->second, now);
}

double Usage::of_project(const std::string& project, TimePoint now) const {
  double sum = 0;
  for (auto it = records_.lower_bound({project, ""});
       it != records_.end() && it->first.project == project; ++it)
    sum += decayed(it->second, now);
  return sum;
}

std::vector<UsageRecord> Usage::records() const {
  std::vector<UsageRecord> all;
  for (const auto& [account, record] : records_) all.push_back(record);
  return all;
}

UsageRecord Usage::record(const Account& account) const {
  const auto it = records_.find(account);
  return it == records_.end() ? UsageRecord{account, 0, TimePoint(0)} : it->second;
}

void Usage::restore(const UsageRecord& record) {
  records_[record.account] = record;
}

}  // namespace tutti
