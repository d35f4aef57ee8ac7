#include "core/spec/csv.h"

#include <algorithm>

#include "core/spec/text.h"

namespace tutti {
namespace {

Error bad_quotes() {
  return invalid_input("quotes are understood around a whole cell, and without a quote in it");
}

// Takes a cell in quotes off the front of a line, up to the next comma.
Result<std::string_view> take_quoted_cell(std::string_view& rest) {
  const std::size_t close = rest.find('"', 1);
  if (close == rest.npos) return bad_quotes();
  const std::string_view cell = rest.substr(1, close - 1);
  rest.remove_prefix(close + 1);
  const std::size_t comma = std::min(rest.find(','), rest.size());
  if (!trimmed(rest.substr(0, comma)).empty()) return bad_quotes();
  rest.remove_prefix(comma);
  return trimmed(cell);
}

Result<std::string_view> take_cell(std::string_view& rest) {
  rest = trimmed(rest);
  if (rest.starts_with('"')) return take_quoted_cell(rest);
  const std::size_t comma = std::min(rest.find(','), rest.size());
  const std::string_view cell = trimmed(rest.substr(0, comma));
  if (cell.find('"') != cell.npos) return bad_quotes();
  rest.remove_prefix(comma);
  return cell;
}

}  // namespace

Result<std::vector<std::string_view>> csv_cells(std::string_view line) {
  if (line.find('"') == line.npos) return split_commas(line);
  std::vector<std::string_view> cells;
  for (;;) {
    const Result<std::string_view> cell = take_cell(line);
    if (!cell) return cell.error();
    cells.push_back(*cell);
    if (line.empty()) return cells;
    line.remove_prefix(1);
  }
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

}  // namespace tutti
