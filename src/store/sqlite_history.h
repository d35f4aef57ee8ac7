#pragma once

#include <memory>
#include <string>
#include <vector>

#include "control/history.h"
#include "store/line_chunks.h"
#include "store/sqlite.h"

namespace tutti {

// History over the file that a SqliteStore writes, by a read-only connection of its own. Belongs to
// the API's thread. Every call reads one snapshot, so it sees whole rounds.
class SqliteHistory final : public History {
 public:
  // The file must exist: a SqliteStore has opened it before.
  static Result<std::unique_ptr<SqliteHistory>> open(const std::string& path);

  Result<std::vector<JobSummary>> list(const JobFilter& filter) override;
  Result<JobSummary> summary(JobId job) override;
  Result<JobSpec> spec(JobId job) override;
  Result<std::vector<TaskRow>> tasks(JobId job, const TaskFilter& filter) override;
  // Those of the lines that exist.
  Result<std::vector<std::string>> lines(JobId job, std::uint32_t first,
                                         std::uint32_t count) override;
  // Their states are those that their outcomes stand for.
  Result<std::vector<TaskRow>> earlier_attempts(TaskId task) override;
  Result<TaskCounts> job_counts() override;
  Result<JobId> last_job() override;

 private:
  explicit SqliteHistory(std::unique_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  std::unique_ptr<Connection> connection_;
  LineReader lines_;
};

}  // namespace tutti
