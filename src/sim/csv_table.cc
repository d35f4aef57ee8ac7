#include "sim/csv_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "core/spec/csv.h"

namespace tutti {
namespace {

constexpr std::streamoff kLargestFile = std::streamoff{1} << 30;

}  // namespace

Result<CsvTable> CsvTable::parse(std::string file, std::string_view text) {
  CsvTable table;
  table.file_ = std::move(file);
  text = without_byte_order_mark(text);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const auto cells = csv_cells(line);
    if (!cells)
      return invalid_input(table.file_ + ":" + std::to_string(number) + ": " +
                           cells.error().message);
    std::vector<std::string> fields(cells->begin(), cells->end());
    if (table.names_.empty()) {
      table.names_ = std::move(fields);
      continue;
    }
    if (fields.size() != table.names_.size()) {
      return invalid_input(table.file_ + ":" + std::to_string(number) + ": has " +
                           std::to_string(fields.size()) + " fields, the first line has " +
                           std::to_string(table.names_.size()));
    }
    table.rows_.push_back(std::move(fields));
    table.lines_.push_back(number);
  }
  if (table.names_.empty()) return invalid_input(table.file_ + ": is empty");
  return table;
}

Result<CsvTable> CsvTable::read(const std::string& path) {
  const Result<std::string> text = read_whole_file(path);
  if (!text) return text.error();
  return parse(path, *text);
}

bool CsvTable::has(std::string_view column) const {
  return std::find(names_.begin(), names_.end(), column) != names_.end();
}

Result<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
  std::string known;
  for (const std::string& one : names_) known += (known.empty() ? "" : ", ") + one;
  return invalid_input(file_ + ": has no column '" + std::string(name) + "', only " + known);
}

Result<double> CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string& field = text(row, column);
  double value = 0;
  const auto parsed = std::from_chars(field.data(), field.data() + field.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != field.data() + field.size() ||
      !std::isfinite(value))
    return error_at(row, "'" + field + "' in column '" + names_[column] + "' is no number");
  return value;
}

Result<std::uint32_t> CsvTable::count(std::size_t row, std::size_t column) const {
  const Result<double> value = number(row, column);
  if (!value) return value.error();
  if (*value < 0 || *value > std::numeric_limits<std::uint32_t>::max() ||
      *value != std::floor(*value))
    return error_at(
        row, "'" + text(row, column) + "' in column '" + names_[column] + "' is no whole number");
  return static_cast<std::uint32_t>(*value);
}

Error CsvTable::error_at(std::size_t row, std::string what) const {
  return invalid_input(file_ + ":" + std::to_string(lines_[row]) + ": " + std::move(what));
}

Result<std::string> read_whole_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return invalid_input("'" + path + "' is a folder; name a file in it");
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) return not_found("cannot read '" + path + "'");
  if (size > kLargestFile) return invalid_input("'" + path + "' is larger than 1 GiB");
  std::string text(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(text.data(), size)) return not_found("cannot read '" + path + "'");
  return text;
}

}  // namespace tutti
