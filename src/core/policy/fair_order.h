#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/policy/queue_order.h"

namespace tutti {

// Who comes next: the highest priority, then the project that has used least lately, in it the user
// who has used least, then the oldest job. Use counts what is running and what this very pass has
// granted, so that two users with a thousand tasks each take turns. Priority rises by one for every
// hour of waiting: nobody starves. Ties go to the smaller name or id. It knows nothing of nodes.
class FairOrder final : public QueueOrder {
 public:
  static constexpr Duration kAgingStep = seconds(3600);

  explicit FairOrder(const Snapshot& snapshot);

  std::optional<std::size_t> next() const override;
  // What is granted moves its account back too.
  bool granted(std::size_t position) override;
  bool granted_head(std::size_t position) override;
  const ReadyJob& head(std::size_t position) const override;
  void remove(std::size_t position) override;

 private:
  // Levels, their projects and the projects' users are numbered in the order of priority and name,
  // so that a tie between numbers is a tie between names.
  using ByUse = std::set<std::pair<double, std::size_t>>;
  struct User {
    std::size_t project = 0;
    std::size_t first = 0;  // the position of one of its groups
    double use = 0;
    std::set<std::pair<JobId, std::size_t>> groups;
  };
  struct Project {
    std::size_t level = 0;
    double use = 0;
    ByUse users;
  };
  struct Place {
    std::int64_t priority = 0;
    std::size_t user = 0;
    std::size_t head = 0;
    std::uint32_t taken = 0;  // tasks taken of that head
  };

  void number_accounts();
  void measure_use();
  JobId head_of(std::size_t position) const;
  bool charge(std::size_t position, double use, bool next_head);

  const Snapshot& snapshot_;
  std::vector<Place> places_;  // by position
  std::vector<User> users_;
  std::vector<Project> projects_;
  std::vector<ByUse> levels_;
  std::size_t level_ = 0;  // the first that is not empty
};

}  // namespace tutti
