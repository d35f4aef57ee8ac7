#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "base/units.h"

namespace tutti {

// Whose use is counted: a user within a project.
struct Account {
  std::string project;
  std::string user;
  auto operator<=>(const Account&) const = default;
};

// An account's decayed use, in CPU seconds, as it was at a time.
struct UsageRecord {
  Account account;
  double cpu_seconds = 0;
  TimePoint as_of;
  bool operator==(const UsageRecord&) const = default;
};

// Who has used how much lately. Use halves every week, so that last month's burst does not weigh on
// today's work. Part of the ledger.
class Usage {
 public:
  static constexpr Duration kHalfLife = seconds(7 * 24 * 3600);

  void charge(const Account& account, double cpu_seconds, TimePoint now);
  double of(const Account& account, TimePoint now) const;
  double of_project(const std::string& project, TimePoint now) const;

  std::vector<UsageRecord> records() const;
  UsageRecord record(const Account& account) const;
  void restore(const UsageRecord& record);

 private:
  std::map<Account, UsageRecord> records_;
};

}  // namespace tutti
