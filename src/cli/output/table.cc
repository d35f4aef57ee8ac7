#include "cli/output/table.h"

#include <algorithm>

#include "base/check.h"
#include "cli/output/text.h"

namespace tutti {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeast = 8;  // no column is cut to less

constexpr std::size_t kLeftOut = std::string::npos;  // a width

// What a row takes.
std::size_t total(const std::vector<std::size_t>& widths) {
  std::size_t sum = 0;
  for (const std::size_t width : widths) sum += width == kLeftOut ? 0 : width + kGap;
  return sum - std::min(sum, kGap);
}

}  // namespace

void Table::add(std::vector<Cell> row) {
  TUTTI_CHECK(row.size() == columns_.size());
  for (Cell& cell : row) cell.text = printable(cell.text);
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::natural_widths(const Screen& screen) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = columns_[i].title.size();
    for (const auto& row : rows_) width = std::max(width, columns_of(row[i].text));
    const bool cut = screen.width() > 0 && columns_[i].most > 0;
    widths.push_back(cut ? std::min(width, columns_[i].most) : width);
  }
  return widths;
}

std::vector<std::size_t> Table::widths_within(std::vector<std::size_t> widths, std::size_t room,
                                              int dropped) const {
  std::size_t used = total(widths);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (columns_[i].dropped == 0 || columns_[i].dropped > dropped) continue;
    used -= widths[i] + kGap;
    widths[i] = kLeftOut;
  }
  const auto cut = [&](std::size_t i) {
    if (widths[i] == kLeftOut) return;
    const std::size_t least = std::min(widths[i], kLeast);
    const std::size_t by = std::min(widths[i] - least, used > room ? used - room : 0);
    widths[i] -= by;
    used -= by;
  };
  cut(widths.size() - 1);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (columns_[i].most > 0) cut(i);
  }
  return widths;
}

std::string Table::render(const Screen& screen) const {
  std::vector<std::size_t> widths = natural_widths(screen);
  if (screen.width() > 0) {
    const auto room = static_cast<std::size_t>(screen.width());
    const std::vector<std::size_t> natural = widths;
    int most = 0;
    for (const Column& column : columns_) most = std::max(most, column.dropped);
    for (int dropped = 0; dropped <= most; ++dropped) {
      widths = widths_within(natural, room, dropped);
      if (total(widths) <= room) break;
    }
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
    if (widths[i] == kLeftOut) continue;
    const std::string shown = cut_to(row[i].text, widths[i]);
    const std::size_t blanks = widths[i] - std::min(widths[i], columns_of(shown));
    const bool right = columns_[i].align == Align::kRight;
    owed += right ? blanks : 0;
    if (!shown.empty()) {
      text.append(owed, ' ');
      owed = 0;
      text += screen.styled(row[i].style, shown);
    }
    owed += (right ? 0 : blanks) + kGap;
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
