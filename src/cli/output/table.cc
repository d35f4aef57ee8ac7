#include "cli/output/table.h"

#include <algorithm>

#include "base/check.h"
#include "cli/output/text.h"

namespace tutti {

void Table::add(std::vector<Cell> row) {
  TUTTI_CHECK(row.size() == columns_.size());
  for (Cell& cell : row) cell.text = printable(cell.text);
  rows_.push_back(std::move(row));
}

std::string Table::render(const Screen& screen) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = columns_[i].title.size();
    for (const auto& row : rows_) width = std::max(width, columns_of(row[i].text));
    const bool cut = screen.width() > 0 && columns_[i].most > 0;
    widths.push_back(cut ? std::min(width, columns_[i].most) : width);
  }
  if (screen.width() > 0) {
    std::size_t before = 2 * (widths.size() - 1);
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) before += widths[i];
    const auto room = static_cast<std::size_t>(screen.width());
    widths.back() = std::min(widths.back(), room > before ? room - before : 8);
  }
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.emplace_back(std::string(column.title), Style::kDim);
  std::string text = line(titles, widths, screen);
  for (const auto& row : rows_) text += line(row, widths, screen);
  return text;
}

std::string Table::line(const std::vector<Cell>& row, const std::vector<std::size_t>& widths,
                        const Screen& screen) const {
  std::string text;
  std::size_t owed = 0;  // blanks are written only when something follows
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string shown = cut_to(row[i].text, widths[i]);
    const std::size_t blanks = widths[i] - std::min(widths[i], columns_of(shown));
    const bool right = columns_[i].align == Align::kRight;
    owed += right ? blanks : 0;
    if (!shown.empty()) {
      text.append(owed, ' ');
      owed = 0;
      text += screen.styled(row[i].style, shown);
    }
    owed += (right ? 0 : blanks) + 2;
  }
  return text + "\n";
}

Style style_of_state(std::string_view state) {
  if (state == "succeeded" || state == "up") return Style::kGreen;
  if (state == "failed" || state == "down") return Style::kRed;
  if (state == "running" || state == "starting") return Style::kCyan;
  if (state == "cancelled" || state == "skipped" || state == "draining") return Style::kYellow;
  return Style::kPlain;
}

}  // namespace tutti
