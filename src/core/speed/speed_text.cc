#include "core/speed/speed_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "core/spec/model_text.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

std::vector<std::string_view> split_at(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(mark);
    parts.push_back(text.substr(0, at));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Result<std::uint32_t> parse_places(std::string_view what, std::string_view text,
                                   std::uint32_t most) {
  const auto number = parse_digits(text, most);
  if (number && *number > 0) return static_cast<std::uint32_t>(*number);
  return invalid_input(std::string(what) + " must be a whole number from 1 to " +
                       std::to_string(most) + ", not " + shown(text));
}

Result<Speed> parse_seconds(std::string_view text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return invalid_input("seconds must be a number, not " + shown(text));
  return speed_of_seconds(seconds);
}

Result<void> add_csv_line(std::string_view line, SpeedTable& table) {
  const std::vector<std::string_view> parts = split_commas(line);
  if (parts.size() != 7)
    return invalid_input("seven values are expected (" + std::string(kSpeedHeader) + "), not " +
                         std::to_string(parts.size()));
  if (const auto named = check_model_name(parts[0]); !named) return named;
  const auto parameters = parse_parameters(parts[1]);
  if (!parameters) return parameters.error();
  const auto batch = parse_batch(parts[2]);
  if (!batch) return batch.error();
  if (!is_type_name(parts[3]))
    return invalid_input("type must be the name of a type of GPU, not " + shown(parts[3]));
  const auto nodes = parse_places("nodes", parts[4], kMostShapeNodes);
  if (!nodes) return nodes.error();
  const auto per_node = parse_places("devices_per_node", parts[5], kMostDevices);
  if (!per_node) return per_node.error();
  const auto speed = parse_seconds(parts[6]);
  if (!speed) return speed.error();
  SpeedCell cell{{std::string(parts[0]), *parameters, *batch},
                 {std::string(parts[3]), *nodes, *per_node}};
  const std::size_t before = table.size();
  table.set(cell, *speed);
  if (table.size() == before)
    return invalid_input("the cell " + format_model_run(cell.run) + " " + column_name(cell.shape) +
                         " stands twice in the table");
  return {};
}

}  // namespace

Result<DeviceShape> parse_column_name(std::string_view text) {
  const std::vector<std::string_view> parts = split_at(text, '_');
  const bool form = parts.size() == 6 && parts[0] == parts[2] && parts[3] == "n" &&
                    parts[5] == "d" && is_type_name(parts[1]);
  const auto nodes = form ? parse_digits(parts[0], kMostShapeNodes) : std::nullopt;
  const auto per_node = form ? parse_digits(parts[4], kMostDevices) : std::nullopt;
  if (!nodes || !per_node || *nodes == 0 || *per_node == 0)
    return invalid_input(shown(text) +
                         " is not NODES_TYPE_NODES_n_DEVICES_d, such as 2_a100_2_n_4_d");
  return DeviceShape{std::string(parts[1]), static_cast<std::uint32_t>(*nodes),
                     static_cast<std::uint32_t>(*per_node)};
}

std::string column_name(const DeviceShape& shape) {
  const std::string nodes = std::to_string(shape.nodes);
  return nodes + "_" + shape.type + "_" + nodes + "_n_" + std::to_string(shape.per_node) + "_d";
}

Result<Speed> speed_of_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds > kMostIterationSeconds)
    return invalid_input("seconds of an iteration must be at most ten million");
  return Speed{std::max(seconds, 0.0)};
}

Result<SpeedTable> parse_speed_csv(std::string_view text) {
  SpeedTable table;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    const auto fail = [&](const std::string& what) {
      return invalid_input("line " + std::to_string(number) + ": " + what);
    };
    if (number == 1 && line != kSpeedHeader)
      return fail("the header must be " + std::string(kSpeedHeader));
    if (number == 1 || line.empty()) continue;
    if (const auto added = add_csv_line(line, table); !added) return fail(added.error().message);
  }
  if (number == 0) return invalid_input("line 1: the header must be " + std::string(kSpeedHeader));
  return table;
}

std::string speed_csv(const SpeedTable& table) {
  std::string text = std::string(kSpeedHeader) + "\n";
  for (const auto& [cell, speed] : table.entries()) {
    char digits[32];
    const auto end =
        std::to_chars(digits, digits + sizeof digits, speed.fits() ? speed.seconds : -1.0).ptr;
    text += cell.run.name + "," + format_parameters(cell.run.parameters) + "," +
            std::to_string(cell.run.batch) + "," + cell.shape.type + "," +
            std::to_string(cell.shape.nodes) + "," + std::to_string(cell.shape.per_node) + "," +
            std::string(digits, end) + "\n";
  }
  return text;
}

}  // namespace tutti
