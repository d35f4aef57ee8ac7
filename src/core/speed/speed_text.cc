#include "core/speed/speed_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "core/spec/csv.h"
#include "core/spec/model_text.h"
#include "core/spec/text.h"

namespace tutti {
namespace {

constexpr std::string_view kHeaderRule =
    "the header must be model,parameters,batch,type,nodes,devices_per_node,seconds, in this order, "
    "with or without ,stages at its end";

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
  if (error != std::errc() || end != text.data() + text.size() || std::isnan(seconds))
    return invalid_input("seconds must be a number, not " + shown(text));
  return speed_of_seconds(seconds);
}

// Pipelines may be uneven, so that the stages need not divide the devices.
Result<std::uint32_t> parse_stages(std::string_view text, const DeviceShape& shape) {
  const auto number = parse_digits(text, shape.devices());
  if (number && *number > 0) return static_cast<std::uint32_t>(*number);
  return invalid_input("stages must be a whole number from 1 to " +
                       std::to_string(shape.devices()) + ", the devices of the cell, not " +
                       shown(text));
}

// Whether there is a column of stages.
Result<bool> read_header(std::string_view line) {
  const auto cells = csv_cells(line);
  if (!cells) return cells.error();
  std::string header;
  for (const std::string_view cell : *cells) header.append(header.empty() ? "" : ",").append(cell);
  if (header == kStagedHeader) return true;
  if (header == kSpeedHeader) return false;
  return invalid_input(std::string(kHeaderRule));
}

Result<void> add_csv_line(std::string_view line, bool staged, SpeedTable& table) {
  const auto cells = csv_cells(line);
  if (!cells) return cells.error();
  const std::vector<std::string_view>& parts = *cells;
  if (parts.size() != (staged ? 8 : 7))
    return invalid_input(std::string(staged ? "eight" : "seven") + " values are expected (" +
                         std::string(staged ? kStagedHeader : kSpeedHeader) + "), not " +
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
  if (staged && !parts[7].empty()) {
    const auto stages = parse_stages(parts[7], cell.shape);
    if (!stages) return stages.error();
    cell.stages = *stages;
  }
  const std::size_t before = table.size();
  table.set(cell, *speed);
  if (table.size() == before)
    return invalid_input("the cell " + format_model_run(cell.run) + " " + cell_name(cell) +
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

Result<SpeedCell> parse_cell_name(std::string_view text) {
  SpeedCell cell;
  const std::size_t mark = text.ends_with("_s") ? text.find("_d_") : text.npos;
  auto shape = parse_column_name(mark == text.npos ? text : text.substr(0, mark + 2));
  if (!shape)
    return invalid_input(shape.error().message + ", with definite stages 2_a100_2_n_4_d_2_s");
  cell.shape = *std::move(shape);
  if (mark == text.npos) return cell;
  const auto stages = parse_stages(text.substr(mark + 3, text.size() - mark - 5), cell.shape);
  if (!stages) return invalid_input(shown(text) + ": " + stages.error().message);
  cell.stages = *stages;
  return cell;
}

std::string cell_name(const SpeedCell& cell) {
  const std::string name = column_name(cell.shape);
  return cell.stages == 0 ? name : name + "_" + std::to_string(cell.stages) + "_s";
}

Result<Speed> speed_of_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds > kMostIterationSeconds)
    return invalid_input("seconds of an iteration must be at most ten million");
  return Speed{std::max(seconds, 0.0)};
}

std::string iteration_text(double seconds) {
  // Three digits of what is just below would be 1e+03.
  constexpr double kThousand = 999.5;
  if (seconds * 1000 < kThousand) return fmt::format("{:.3g}ms", seconds * 1000);
  return seconds < kThousand ? fmt::format("{:.3g}s", seconds) : fmt::format("{:.0f}s", seconds);
}

Result<SpeedTable> parse_speed_csv(std::string_view text) {
  text = without_byte_order_mark(text);
  SpeedTable table;
  bool staged = false;
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
    if (number == 1) {
      const auto header = read_header(line);
      if (!header) return fail(header.error().message);
      staged = *header;
    } else if (!line.empty()) {
      const auto added = add_csv_line(line, staged, table);
      if (!added) return fail(added.error().message);
    }
  }
  if (number == 0) return invalid_input("line 1: " + std::string(kHeaderRule));
  return table;
}

std::string speed_csv(const SpeedTable& table) {
  const bool staged = std::any_of(table.entries().begin(), table.entries().end(),
                                  [](const auto& entry) { return entry.first.stages != 0; });
  std::string text = std::string(staged ? kStagedHeader : kSpeedHeader) + "\n";
  for (const auto& [cell, speed] : table.entries()) {
    char digits[32];
    const auto end =
        std::to_chars(digits, digits + sizeof digits, speed.fits() ? speed.seconds : -1.0).ptr;
    text += cell.run.name + "," + format_parameters(cell.run.parameters) + "," +
            std::to_string(cell.run.batch) + "," + cell.shape.type + "," +
            std::to_string(cell.shape.nodes) + "," + std::to_string(cell.shape.per_node) + "," +
            std::string(digits, end);
    if (staged) text += cell.stages == 0 ? "," : "," + std::to_string(cell.stages);
    text += "\n";
  }
  return text;
}

}  // namespace tutti
