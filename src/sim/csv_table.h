#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

// A file of comma-separated values with names in its first line. A value.
class CsvTable {
 public:
  // Every row has as many fields as the first line; an error begins with "FILE:LINE: ".
  static Result<CsvTable> parse(std::string file, std::string_view text);
  static Result<CsvTable> read(const std::string& path);

  std::size_t rows() const { return rows_.size(); }
  bool has(std::string_view column) const;
  // Which of the columns it is; an error names the file and what is there.
  Result<std::size_t> column(std::string_view name) const;
  const std::string& text(std::size_t row, std::size_t column) const { return rows_[row][column]; }
  // A finite number and nothing else.
  Result<double> number(std::size_t row, std::size_t column) const;
  Result<std::uint32_t> count(std::size_t row, std::size_t column) const;
  // "FILE:LINE: what"
  Error error_at(std::size_t row, std::string what) const;

 private:
  std::string file_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> lines_;
};

// A whole file, at most 1 GiB.
Result<std::string> read_whole_file(const std::string& path);

}  // namespace tutti
