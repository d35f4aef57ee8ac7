#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/lifecycle/ledger.h"
#include "core/model/node.h"
#include "core/model/profile.h"
#include "core/model/request.h"
#include "core/speed/speed_estimator.h"

namespace tutti {

// What it rests on that one configuration comes before another.
enum class SpeedBasis : std::uint8_t {
  kListed = 0,      // the order in which the user listed them
  kRunTimes = 1,    // how long runs of its kind took there
  kIterations = 2,  // the table of speeds: seconds of an iteration of its model
};

// One of a job's configurations, and why it has its place among them.
struct RankedConfiguration {
  Configuration configuration;
  std::optional<SpeedEstimate> speed;  // of an iteration or of a whole run
  SpeedBasis basis = SpeedBasis::kListed;
  bool possible = true;  // some node has such devices
  bool ran_out = false;  // runs of its kind needed more memory than is there
  // It is taken when it is free: it is possible, and was not measured to need more memory, unless
  // all that are possible were.
  bool usable = true;
  bool operator==(const RankedConfiguration&) const = default;
};

// The configurations of a group, the best first, those that are not usable last. The fastest is the
// best: by the table of speeds if that knows its model, else by how long runs of its kind took;
// what neither knows comes behind, in the order of the user's list.
std::vector<RankedConfiguration> rank_configurations(const Group& group, const Profile* profile,
                                                     std::span<const Node> nodes);

// Why it has its place: "2.96s an iteration (measured)", "not measured".
std::string text_of(const RankedConfiguration& ranked);

}  // namespace tutti
