#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output/screen.h"

namespace tutti {

// Rows of text in columns, two blanks apart. Cells are made printable, and on a terminal columns
// are cut and left out so that a row does not wrap if that can be avoided: first the last one is
// cut, then those that have a most, then some are left out. Elsewhere nothing is cut. A value, used
// once.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string_view title;
    Align align = Align::kLeft;
    std::size_t most = 0;  // columns on a terminal; 0: as wide as needed
    int dropped = 0;       // left out where there is no room, 1 before 2; 0: never
  };
  struct Cell {
    std::string text;
    Style style = Style::kPlain;
    Cell(std::string cell_text) : text(std::move(cell_text)) {}  // NOLINT: implicit
    Cell(std::string_view cell_text) : text(cell_text) {}        // NOLINT: implicit
    Cell(const char* cell_text) : text(cell_text) {}             // NOLINT: implicit
    Cell(std::string cell_text, Style cell_style) : text(std::move(cell_text)), style(cell_style) {}
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // One cell for each column.
  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }
  std::string render(const Screen& screen) const;

 private:
  std::vector<std::size_t> natural_widths(const Screen& screen) const;
  // Without the columns that are left out up to `dropped`.
  std::vector<std::size_t> widths_within(std::vector<std::size_t> widths, std::size_t room,
                                         int dropped) const;
  std::string line(const std::vector<Cell>& row, const std::vector<std::size_t>& widths,
                   const Screen& screen) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// The style in which a state is shown everywhere.
Style style_of_state(std::string_view state);

}  // namespace tutti
