#include "core/speed/plan_cells.h"

#include <algorithm>
#include <set>

#include "core/spec/model_text.h"
#include "core/spec/text.h"
#include "core/speed/speed_text.h"

namespace tutti {
namespace {

Error bad_shape(std::string_view text) {
  return invalid_input(shown(text) + " names no GPUs; such as 4xA100, or 2x8xV100 for two nodes");
}

Result<DeviceShape> parse_device_shape(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  std::string_view rest = text;
  while (numbers.size() < 2) {
    const std::size_t mark = rest.find('x');
    if (mark == rest.npos) break;
    const auto number = parse_digits(rest.substr(0, mark), kMostShapeNodes);
    if (!number || *number == 0) break;
    numbers.push_back(static_cast<std::uint32_t>(*number));
    rest.remove_prefix(mark + 1);
  }
  if (numbers.empty()) return bad_shape(text);
  const DeviceShape shape{std::string(rest), numbers.size() == 2 ? numbers[0] : 1, numbers.back()};
  if (shape.per_node > kMostDevices || !parse_column_name(column_name(shape)))
    return bad_shape(text);
  return shape;
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
  if (dash == type.npos || !type.ends_with('G')) return {};
  const auto gib = parse_digits(type.substr(dash + 1, type.size() - dash - 2), 100'000);
  return gib ? MiB(static_cast<std::int64_t>(*gib) * 1024) : MiB();
}

double PlannedCell::cost() const {
  return estimate ? estimate->seconds * cell.shape.devices() : 0;
}

std::vector<PlannedCell> plan_cells(const SpeedTable& table, const ModelRun& run,
                                    std::span<const DeviceShape> shapes) {
  const SpeedEstimator estimator(table, run.name);
  std::vector<PlannedCell> cells;
  for (const DeviceShape& shape : shapes) {
    const SpeedCell cell{run, shape};
    cells.push_back({cell, estimator.estimate(cell, memory_in_type(shape.type))});
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
