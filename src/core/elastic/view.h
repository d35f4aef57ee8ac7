#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/ids.h"

namespace tutti {

// Nodes that are alike, with devices of one type.
struct Pool {
  std::string type;
  std::uint32_t nodes = 0;
  std::uint32_t per_node = 0;
  std::uint32_t devices() const { return nodes * per_node; }
};

// So many devices of a pool, on so many of its nodes.
struct Shape {
  std::uint32_t pool = 0;
  std::uint32_t nodes = 1;
  std::uint32_t devices = 1;
  bool operator==(const Shape&) const = default;
};

// One way in which an elastic job may run, and how fast it is expected to be then.
struct ShapeOption {
  Shape shape;
  double rate = 0;  // progress per second; comparable between the options of one job only
};

// A job that may run in several shapes, and change its shape at a price. This is all that a policy
// learns of it: nothing here is hidden from a live scheduler.
struct ElasticJob {
  JobId id;
  double submitted_s = 0;
  std::vector<ShapeOption> options;    // always in the same order while what is known is the same
  std::optional<std::size_t> current;  // the option that it runs as
  bool starting = false;               // it is being started or restored: not to be disturbed
  bool known = true;                   // the rates rest on measurements; if not, all of them are 1
  double restart_s = 0;                // what a start or a change of shape costs it
  std::uint32_t restarts = 0;
  double executed_s = 0;            // how long it has had devices
  double attained_s = 0;            // devices × seconds that it has had
  std::optional<double> remaining;  // progress that is left, as declared; none: nobody said
  std::uint32_t wanted = 1;         // devices that its user asked for, for policies that obey
  std::optional<std::uint32_t> wanted_pool;
};

// What an elastic policy decides on.
struct ElasticSnapshot {
  double now_s = 0;
  std::vector<Pool> pools;
  std::vector<ElasticJob> jobs;  // unfinished ones, in the order of submission
  double events_per_hour = 0;    // arrivals and ends within the last hour
};

// By position in ElasticSnapshot::jobs: the option to run as; none: wait.
using Choices = std::vector<std::optional<std::size_t>>;

// Decides, round by round, who runs how. May remember things between rounds, such as queues and
// prices; the same calls give the same answers. Owned by whoever runs the rounds; one thread.
class ElasticPolicy {
 public:
  virtual ~ElasticPolicy() = default;
  // Choices fit the pools; a job that is `starting` keeps its option.
  virtual Choices decide(const ElasticSnapshot& snapshot) = 0;
  // In which order the jobs of that decision get their nodes, as positions in it; empty: those with
  // the most devices first.
  virtual std::vector<std::size_t> order() const { return {}; }

 protected:
  ElasticPolicy() = default;
  ElasticPolicy(const ElasticPolicy&) = default;
  ElasticPolicy& operator=(const ElasticPolicy&) = default;
};

}  // namespace tutti
