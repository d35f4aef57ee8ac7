#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/ids.h"
#include "store/sqlite.h"

namespace tutti {

// Writes a batch's lines, many to a row, so that a hundred thousand lines cost a few hundred rows.
Result<void> write_lines(Connection& connection, JobId job, const std::vector<std::string>& lines);

// Reads lines back. Keeps the row that it read last, because a batch is launched in order. Belongs
// to the thread of its connection.
class LineReader {
 public:
  // Those of the lines [first, first + count) that exist.
  Result<std::vector<std::string>> read(Connection& connection, JobId job, std::uint32_t first,
                                        std::uint32_t count);

 private:
  // Makes the kept row the one with the line; false when there is no such line.
  Result<bool> fetch(Connection& connection, JobId job, std::uint32_t line);
  bool keeps(JobId job, std::uint32_t line) const {
    return job == job_ && line >= first_ && line - first_ < lines_.size();
  }

  JobId job_;
  std::uint32_t first_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace tutti
