#include "core/speed/plan_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/model/node.h"
#include "core/spec/model_text.h"
#include "core/spec/text.h"
#include "core/speed/speed_text.h"

namespace tutti {
namespace {

Error bad_shape(std::string_view text) {
  return invalid_input(shown(text) + " names no GPUs; such as 4xA100, or 2x8xV100 for two nodes");
}

// "8xV100": takes "8x" off; nothing where no digits and an 'x' stand in front, with which no type
// begins.
std::optional<std::string_view> take_number(std::string_view& rest) {
  const std::size_t mark = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (mark == 0 || mark == rest.size() || rest[mark] != 'x') return std::nullopt;
  const std::string_view digits = rest.substr(0, mark);
  rest.remove_prefix(mark + 1);
  return digits;
}

Result<DeviceShape> parse_device_shape(std::string_view text) {
  std::string_view type = text;
  std::vector<std::string_view> numbers;
  while (const auto digits = take_number(type)) numbers.push_back(*digits);
  if (numbers.empty() || numbers.size() > 2 || !is_type_name(type)) return bad_shape(text);
  const bool several = numbers.size() == 2;
  const auto nodes =
      several ? parse_digits(numbers[0], kMostShapeNodes) : std::optional<std::uint64_t>(1);
  const auto per_node = parse_digits(numbers.back(), kMostDevices);
  if (!nodes || !per_node || *nodes == 0 || *per_node == 0)
    return invalid_input(fmt::format("{}: there are 1 to {} GPUs on each of 1 to {} nodes",
                                     shown(text), kMostDevices, kMostShapeNodes));
  return DeviceShape{std::string(type), static_cast<std::uint32_t>(*nodes),
                     static_cast<std::uint32_t>(*per_node)};
}

// 1, 2, 4 ... and the number itself.
std::vector<std::uint32_t> steps_to(std::uint32_t number) {
  std::vector<std::uint32_t> steps;
  for (std::uint64_t step = 1; step < number; step *= 2)
    steps.push_back(static_cast<std::uint32_t>(step));
  steps.push_back(number);
  return steps;
}

// How far down the list a configuration comes before its speed is looked at.
int class_of(const std::optional<SpeedEstimate>& speed) {
  if (!speed) return 1;
  if (speed->fits) return 0;
  return speed->measured ? 3 : 2;
}

// The largest that is sold by that name.
MiB most_sold(std::string_view type) {
  struct Sold {
    std::string_view type;
    std::int64_t gib;
  };
  static constexpr Sold kSold[] = {{"p100", 16}, {"v100", 32}, {"t4", 16},   {"a10", 24},
                                   {"a30", 24},  {"a40", 48},  {"l4", 24},   {"l40", 48},
                                   {"l40s", 48}, {"a100", 80}, {"h100", 94}, {"h200", 141}};
  for (const Sold& one : kSold)
    if (is_of_type(type, one.type)) return MiB(one.gib * 1024);
  return {};
}

}  // namespace

Result<std::vector<DeviceShape>> parse_device_shapes(std::string_view text) {
  std::vector<DeviceShape> shapes;
  for (const std::string_view part : split_commas(text)) {
    auto shape = parse_device_shape(part);
    if (!shape) return shape.error();
    shapes.push_back(*std::move(shape));
  }
  return shapes;
}

std::vector<DeviceShape> shapes_within(std::span<const DeviceShape> available) {
  std::vector<DeviceShape> shapes;
  std::set<DeviceShape> seen;
  const auto add = [&](DeviceShape shape) {
    if (seen.insert(shape).second) shapes.push_back(std::move(shape));
  };
  for (const DeviceShape& one : available) {
    for (const std::uint32_t devices : steps_to(one.per_node)) add({one.type, 1, devices});
    for (const std::uint32_t nodes : steps_to(one.nodes)) add({one.type, nodes, one.per_node});
  }
  return shapes;
}

std::vector<DeviceShape> shapes_in(const SpeedTable& table) {
  std::set<DeviceShape> shapes;
  for (const auto& [cell, speed] : table.entries()) shapes.insert(cell.shape);
  return {shapes.begin(), shapes.end()};
}

MiB memory_in_type(std::string_view type) {
  const std::size_t dash = type.rfind('-');
  if (dash == type.npos) return most_sold(type);
  if (!type.ends_with('G')) return {};
  const auto gib = parse_digits(type.substr(dash + 1, type.size() - dash - 2), 100'000);
  return gib ? MiB(static_cast<std::int64_t>(*gib) * 1024) : MiB();
}

std::vector<PlannedCell> plan_cells(const SpeedTable& table, const ModelRun& run,
                                    std::span<const DeviceShape> shapes) {
  const SpeedEstimator estimator(table, run.name);
  std::vector<PlannedCell> cells;
  for (const DeviceShape& shape : shapes) {
    const SpeedCell whole{run, shape};
    const MiB memory = memory_in_type(shape.type);
    for (PlannedCell& one : staged_cells(table, whole, estimator.estimate(whole, memory), memory))
      cells.push_back(std::move(one));
  }
  return cells;
}

std::vector<std::size_t> by_preference(std::span<const std::optional<SpeedEstimate>> speeds) {
  std::vector<std::size_t> order(speeds.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int class_a = class_of(speeds[a]);
    const int class_b = class_of(speeds[b]);
    if (class_a != class_b) return class_a < class_b;
    return class_a == 0 && speeds[a]->seconds < speeds[b]->seconds;
  });
  const auto hopeless = [&](std::size_t i) { return class_of(speeds[i]) == 3; };
  if (!order.empty() && !hopeless(order.front())) std::erase_if(order, hopeless);
  return order;
}

}  // namespace tutti
