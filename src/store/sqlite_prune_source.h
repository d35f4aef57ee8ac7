#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/prune.h"
#include "store/sqlite.h"

namespace tutti {

// PruneSource over the file that the SqliteStore of a home writes, by a read-only connection of its
// own, which lives for one prune. One thread.
class SqlitePruneSource final : public PruneSource {
 public:
  static Result<std::unique_ptr<PruneSource>> open(const std::string& home, GoesOn goes_on);

  Result<Prunable> prunable(const PruneRequest& request) override;
  Result<Remaining> remaining(const std::set<JobId>& without) override;
  bool is_known(JobId job) override;

 private:
  SqlitePruneSource(std::string home, GoesOn goes_on, std::unique_ptr<Connection> connection)
      : home_(std::move(home)), goes_on_(std::move(goes_on)), connection_(std::move(connection)) {}
  // The next row of one of those queries that read many.
  Result<bool> next_row(Query& query) const;
  Result<void> add_awaited(std::set<JobId>& needed);
  Result<void> add_hosts(std::set<JobId>& needed);

  const std::string home_;
  const GoesOn goes_on_;
  std::unique_ptr<Connection> connection_;
  // Of the last question: a job has many files in a row.
  JobId asked_;
  bool known_ = true;
};

}  // namespace tutti
