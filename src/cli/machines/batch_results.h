#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/session.h"
#include "core/spec/batch_file.h"

namespace tutti {

// Where the results of a batch over machines are kept, and which of them there are: a folder
// job_results with NAME.out, NAME.err and NAME/ for each line, NAME being the batch file's path
// with
// '_' for '/', and the line's number. Which job a line was part of is remembered in
// job_results/.tutti, so that the daemon can tell later how it ended.
class BatchResults {
 public:
  enum class Past { kNone, kDone, kFailed, kUnderWay };

  // `folder`: where job_results is, absolute. `batch`: the batch file as it was given.
  BatchResults(const std::string& folder, const std::string& batch);

  std::string name(std::uint32_t line) const;
  // What became of a line before.
  Past past(Session& session, std::uint32_t line) const;
  // Removes what is there of a line that is to run again.
  void forget(std::uint32_t line) const;
  // Remembers that these lines are the tasks 1, 2, ... of a job.
  Result<void> remember(std::uint64_t job, const std::vector<std::uint32_t>& lines) const;

  // Patterns for a job's results, with %l for the line.
  std::string pattern(const std::string& ending) const;
  const std::string& folder() const { return folder_; }

 private:
  std::string path(std::uint32_t line) const;
  std::string record(std::uint32_t line) const;
  bool has_files(std::uint32_t line) const;

  std::string folder_;  // .../job_results
  std::string prefix_;
};

}  // namespace tutti
