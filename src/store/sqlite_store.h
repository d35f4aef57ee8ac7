#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "control/store.h"
#include "store/checkpointer.h"
#include "store/line_chunks.h"
#include "store/round_writer.h"
#include "store/sqlite.h"

namespace tutti {

// The Store over a SQLite file: write-ahead log, synchronous=FULL, one transaction for each round.
// It is the file's only writer and belongs to the controller thread; History reads beside it. That
// only one daemon has the file is the daemon's business. Format: docs/formats/.
class SqliteStore final : public Store {
 public:
  // Creates the file where there is none; its folder must exist.
  static Result<std::unique_ptr<SqliteStore>> open(const std::string& path);

  Result<void> commit(const Round& round) override;
  Result<Recovered> recover() override;
  Result<JobSpec> load_spec(JobId job) override;
  Result<std::vector<std::string>> load_lines(JobId job, std::uint32_t first,
                                              std::uint32_t count) override;
  Result<JobRow> load_job(JobId job) override;
  Result<std::vector<TaskRow>> load_tasks(JobId job) override;
  Result<bool> prune(const PruneStep& step) override;

  // Events number `from` and following, at most `limit`. The first event has number 1, and there
  // are no gaps.
  Result<std::vector<Event>> read_journal(std::uint64_t from, std::uint32_t limit);

 private:
  SqliteStore(std::unique_ptr<Connection> connection, const Tally& tally)
      : connection_(std::move(connection)),
        checkpointer_(connection_->path()),
        writer_(*connection_, tally) {
    connection_->watch_log([this](int pages) { return checkpointer_.grown(pages); });
  }

  std::unique_ptr<Connection> connection_;
  Checkpointer checkpointer_;
  RoundWriter writer_;
  LineReader lines_;
};

}  // namespace tutti
