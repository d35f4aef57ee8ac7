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
  cell.shape.type = spelling_of(cell.shape.type);
  types_.insert(cell.shape.type);
  entries_.insert_or_assign(std::move(cell), speed);
}

void SpeedTable::erase(const SpeedCell& cell) {
  const auto it = entries_.find(cell);
  if (it == entries_.end()) return;
  const std::string type = it->first.shape.type;
  entries_.erase(it);
  const bool used = std::any_of(entries_.begin(), entries_.end(),
                                [&](const auto& entry) { return entry.first.shape.type == type; });
  if (!used) types_.erase(type);
}

std::string SpeedTable::spelling_of(const std::string& type) const {
  for (const std::string& one : types_)
    if (equal_but_for_case(one, type)) return one;
  return type;
}

const Speed* SpeedTable::find(const SpeedCell& cell) const {
  SpeedCell known = cell;
  for (const std::string& name : names_of(cell.shape.type)) {
    known.shape.type = name;
    if (const auto it = entries_.find(known); it != entries_.end()) return &it->second;
  }
  return nullptr;
}

std::vector<std::string> SpeedTable::names_of(std::string_view type) const {
  std::vector<std::string> names;
  if (type.empty()) return names;
  const auto add_if = [&](const auto& is_meant) {
    for (const std::string& one : types_)
      if (is_meant(one) && std::find(names.begin(), names.end(), one) == names.end())
        names.push_back(one);
  };
  add_if([&](const std::string& one) { return equal_but_for_case(one, type); });
  add_if([&](const std::string& one) { return is_of_type(type, one); });
  add_if([&](const std::string& one) { return is_of_type(one, type); });
  return names;
}

std::string SpeedTable::name_in(const SpeedCell& cell) const {
  const std::vector<std::string> names = names_of(cell.shape.type);
  SpeedCell known{cell.run, cell.shape};
  for (const std::string& name : names) {
    known.shape.type = name;
    const auto it = entries_.lower_bound(known);
    if (it != entries_.end() && it->first.run == known.run && it->first.shape == known.shape)
      return name;
  }
  return names.empty() ? std::string() : names.front();
}

SpeedTable SpeedTable::best() const {
  SpeedTable best;
  for (const auto& [cell, speed] : entries_) {
    const SpeedCell whole{cell.run, cell.shape};
    const auto known = best.entries_.find(whole);
    const bool is_new = known == best.entries_.end();
    const bool is_whole = cell.stages == 0 || cell.shape.devices() == 1;
    const bool is_faster =
        speed.fits() && !is_new && (!known->second.fits() || speed.seconds < known->second.seconds);
    if (is_faster || (is_new && (speed.fits() || is_whole))) best.set(whole, speed);
  }
  return best;
}

std::vector<std::string> SpeedTable::models() const {
  std::vector<std::string> names;
  for (const auto& [cell, speed] : entries_)
    if (names.empty() || names.back() != cell.run.name) names.push_back(cell.run.name);
  return names;
}

}  // namespace tutti
