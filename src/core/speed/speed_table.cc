#include "core/speed/speed_table.h"

#include <algorithm>
#include <cctype>

#include "core/model/node.h"

namespace tutti {
namespace {

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

void SpeedTable::set(SpeedCell cell, Speed speed) {
  const auto same = std::find_if(types_.begin(), types_.end(), [&](const std::string& type) {
    return equal_but_for_case(type, cell.shape.type);
  });
  if (same != types_.end())
    cell.shape.type = *same;
  else
    types_.insert(cell.shape.type);
  entries_.insert_or_assign(std::move(cell), speed);
}

void SpeedTable::merge(const SpeedTable& other) {
  for (const auto& [cell, speed] : other.entries_) set(cell, speed);
}

const Speed* SpeedTable::find(const SpeedCell& cell) const {
  auto it = entries_.find(cell);
  if (it == entries_.end()) {
    SpeedCell known = cell;
    known.shape.type = type_for(cell.shape.type);
    it = entries_.find(known);
  }
  return it == entries_.end() ? nullptr : &it->second;
}

std::string SpeedTable::type_for(std::string_view type) const {
  if (type.empty()) return {};
  for (const std::string& one : types_)
    if (equal_but_for_case(one, type)) return one;
  for (const std::string& one : types_)
    if (is_of_type(type, one)) return one;
  for (const std::string& one : types_)
    if (is_of_type(one, type)) return one;
  return {};
}

std::vector<std::string> SpeedTable::models() const {
  std::vector<std::string> names;
  for (const auto& [cell, speed] : entries_)
    if (names.empty() || names.back() != cell.run.name) names.push_back(cell.run.name);
  return names;
}

}  // namespace tutti
