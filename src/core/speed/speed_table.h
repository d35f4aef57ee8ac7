#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_run.h"

namespace tutti {

// Devices of one type: so many on each of so many nodes.
struct DeviceShape {
  std::string type;
  std::uint32_t nodes = 1;
  std::uint32_t per_node = 1;
  std::uint32_t devices() const { return nodes * per_node; }
  auto operator<=>(const DeviceShape&) const = default;
};

// A model run on certain devices: what a speed belongs to. We call it a cell.
struct SpeedCell {
  ModelRun run;
  DeviceShape shape;
  std::uint32_t stages = 0;  // of its pipeline; zero: the best plan, whatever its stages
  auto operator<=>(const SpeedCell&) const = default;
};

// What was measured of a cell: how long an iteration takes, or that it does not fit its memory.
struct Speed {
  double seconds = 0;  // of an iteration; zero: it does not fit
  bool fits() const { return seconds > 0; }
  bool operator==(const Speed&) const = default;
};

// Measured speeds by cell. A value; it estimates nothing. Names of types are those of whoever
// measured ("a100"); names_of() finds those that a node's type ("A100-80G") goes by here. A cell
// may be in it several times: as the best plan that was found, and with definite stages.
class SpeedTable {
 public:
  using Entries = std::map<SpeedCell, Speed>;

  // Replaces what was known of the cell. A type that differs from a known one in the case of its
  // letters alone is that one.
  void set(SpeedCell cell, Speed speed);
  // Forgets a cell.
  void erase(const SpeedCell& cell);

  // What was measured of the cell, by the first of the names of its type that has it; null:
  // nothing.
  const Speed* find(const SpeedCell& cell) const;
  // The table's names of a type, the nearest first: the same but for case, what it is a size of,
  // sizes of it.
  std::vector<std::string> names_of(std::string_view type) const;
  // The first of them by which anything of the cell's run and devices was measured, with whatever
  // stages; else the nearest; empty if there is none.
  std::string name_in(const SpeedCell& cell) const;

  // Each cell once, with its best plan: the fastest of what was measured of it. That some stages do
  // not fit does not mean that the cell does not, unless one device has to hold everything.
  SpeedTable best() const;

  // As the table writes a type whose letters differ in case alone; the type itself if it has none.
  std::string spelling_of(const std::string& type) const;

  const Entries& entries() const { return entries_; }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  // Each once, in order.
  std::vector<std::string> models() const;
  const std::set<std::string>& types() const { return types_; }

  bool operator==(const SpeedTable&) const = default;

 private:
  Entries entries_;
  std::set<std::string> types_;
};

}  // namespace tutti
