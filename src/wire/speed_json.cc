#include "wire/speed_json.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "core/spec/csv.h"
#include "core/spec/model_text.h"
#include "core/spec/text.h"
#include "core/speed/speed_text.h"
#include "wire/json_fields.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 1> kMembers = {"optimal"};
constexpr std::size_t kMostCells = 1'000'000;

// How far reading has come: the keys at which an error is.
struct SpeedPlace {
  std::string row;
  std::string column;
};

Result<Speed> speed_from_json(const json::value& value) {
  if (!value.is_number()) return invalid_input("seconds must be a number");
  return speed_of_seconds(value.to_number<double>());
}

Result<void> read_row(std::string_view name, const json::value& value, SpeedTable& table,
                      SpeedPlace& where) {
  where = {std::string(name), {}};
  const auto run = parse_model_run(name);
  if (!run) return run.error();
  const auto* row = value.if_object();
  if (row == nullptr) return invalid_input(shown(name) + " must be an object of cells");
  for (const auto& member : *row) {
    where.column = member.key();
    const auto fail = [&](const Error& error) {
      return invalid_input(std::string(name) + ": " + error.message);
    };
    auto cell = parse_cell_name(member.key());
    if (!cell) return fail(cell.error());
    cell->run = *run;
    const auto speed = speed_from_json(member.value());
    if (!speed)
      return fail(invalid_input(std::string(member.key()) + ": " + speed.error().message));
    const std::size_t before = table.size();
    table.set(*cell, *speed);
    if (table.size() == before)
      return fail(invalid_input("the cell " + cell_name(*cell) + " stands twice in the table"));
    if (table.size() > kMostCells) return invalid_input("more than a million cells");
  }
  return {};
}

Result<SpeedTable> read_document(const json::value& value, SpeedPlace& where) {
  const auto document = object_from_json(value, "a table of speeds", kMembers);
  if (!document) return document.error();
  const json::value* rows = (*document)->if_contains("optimal");
  if (rows == nullptr || !rows->is_object())
    return invalid_input("a table of speeds must have an object 'optimal'");
  SpeedTable table;
  for (const auto& member : rows->as_object()) {
    if (const auto read = read_row(member.key(), member.value(), table, where); !read)
      return read.error();
  }
  return table;
}

std::string line_of(std::string_view text, std::size_t position) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(position, text.size()));
  return "line " + std::to_string(1 + std::count(text.begin(), end, '\n')) + ": ";
}

// Errors of the parser end in the byte at which it stopped.
std::size_t byte_in(std::string_view message) {
  const std::size_t at = message.rfind("byte ");
  if (at == message.npos) return 0;
  return parse_digits(message.substr(at + 5), std::uint64_t{1} << 40).value_or(0);
}

std::string_view after_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == text.npos ? std::string_view() : text.substr(first);
}

}  // namespace

Result<SpeedTable> speeds_from_json(const json::value& value) {
  SpeedPlace where;
  return read_document(value, where);
}

json::value speeds_to_json(const SpeedTable& table) {
  json::object rows;
  for (const auto& [cell, speed] : table.entries()) {
    json::value& row = rows[format_model_run(cell.run)];
    if (!row.is_object()) row = json::object();
    row.as_object()[cell_name(cell)] = speed.fits() ? speed.seconds : -1.0;
  }
  return json::object{{"optimal", std::move(rows)}};
}

Result<SpeedTable> read_speeds(std::string_view text) {
  text = without_byte_order_mark(text);
  if (after_blanks(text).empty()) return invalid_input("line 1: there is nothing in it");
  if (!after_blanks(text).starts_with('{')) return parse_speed_csv(text);
  const auto value = parse_json(text);
  if (!value)
    return invalid_input(line_of(text, byte_in(value.error().message)) + value.error().message);
  SpeedPlace where;
  auto table = read_document(*value, where);
  if (table) return table;
  const auto next = [&](const std::string& key, std::size_t from) {
    return key.empty() ? from
                       : std::max(from, std::min(text.find("\"" + key + "\"", from), text.size()));
  };
  const std::size_t at = next(where.column, next(where.row, 0));
  return invalid_input(line_of(text, at) + table.error().message);
}

bool looks_like_speeds(std::string_view text) {
  const std::string_view start = after_blanks(without_byte_order_mark(text));
  if (!start.starts_with('{')) return start.starts_with("model,") || start.starts_with("\"model\"");
  return after_blanks(start.substr(1)).starts_with("\"optimal\"");
}

std::string speeds_text(const SpeedTable& table) {
  std::string text = "{\n\"optimal\": {";
  const ModelRun* run = nullptr;
  for (const auto& [cell, speed] : table.entries()) {
    if (run == nullptr || *run != cell.run) {
      text += run == nullptr ? "\n" : "\n},\n";
      text += "\"" + format_model_run(cell.run) + "\": {\n";
    } else {
      text += ",\n";
    }
    run = &cell.run;
    text += "\"" + cell_name(cell) +
            "\": " + json_text(json::value(speed.fits() ? speed.seconds : -1.0));
  }
  return text + (run == nullptr ? "}\n}\n" : "\n}\n}\n}\n");
}

}  // namespace tutti
