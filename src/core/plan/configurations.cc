#include "core/plan/configurations.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/demand.h"
#include "core/speed/plan_cells.h"
#include "core/speed/speed_text.h"

namespace tutti {
namespace {

using SpeedList = std::vector<std::optional<SpeedEstimate>>;

bool is_known(const SpeedList& speeds) {
  return std::any_of(speeds.begin(), speeds.end(), [](const auto& one) { return one.has_value(); });
}

SpeedList run_times(const std::vector<Configuration>& configurations, const Profile* profile) {
  SpeedList speeds(configurations.size());
  for (std::size_t i = 0; profile != nullptr && i < speeds.size(); ++i) {
    const Duration time = profile->time_on(configurations[i].type, configurations[i].count);
    if (time.value == 0) continue;
    speeds[i] = SpeedEstimate{.measured = true, .seconds = static_cast<double>(time.value) * 1e-6};
  }
  return speeds;
}

bool exists(const Request& request, std::span<const Node> nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const Node& node) { return could_ever_fit(node, request); });
}

}  // namespace

std::vector<RankedConfiguration> rank_configurations(const Group& group, const Profile* profile,
                                                     std::span<const Node> nodes) {
  const Request& request = group.key.request;
  SpeedList speeds = group.speeds;
  SpeedBasis basis = SpeedBasis::kIterations;
  if (!is_known(speeds)) {
    speeds = run_times(request.configurations, profile);
    basis = is_known(speeds) ? SpeedBasis::kRunTimes : SpeedBasis::kListed;
  }
  const std::vector<DeviceType> types =
      profile == nullptr ? std::vector<DeviceType>() : device_types(nodes);
  std::vector<RankedConfiguration> ranked;
  std::vector<bool> listed(speeds.size());
  const auto add = [&](std::size_t position, bool fits) {
    const Configuration& one = request.configurations[position];
    const Request with = with_configuration(request, one);
    const bool possible = exists(with, nodes);
    const bool too_little = ran_out(with, profile, types);
    ranked.push_back(
        {one, speeds[position], basis, possible, too_little, possible && fits && !too_little});
    listed[position] = true;
  };
  for (const std::size_t position : by_preference(speeds)) add(position, true);
  for (std::size_t position = 0; position < listed.size(); ++position)
    if (!listed[position]) add(position, false);
  const auto is_usable = [](const RankedConfiguration& one) { return one.usable; };
  // Its user wants to run it there; nobody waits for ever because of what was measured once.
  if (std::none_of(ranked.begin(), ranked.end(), is_usable))
    for (RankedConfiguration& one : ranked) one.usable = one.possible;
  std::stable_partition(ranked.begin(), ranked.end(), is_usable);
  return ranked;
}

std::string text_of(const RankedConfiguration& ranked) {
  if (!ranked.possible) return "no node has such GPUs";
  if (ranked.ran_out) return "runs of its kind ran out of its memory";
  if (ranked.basis == SpeedBasis::kListed) return "in the order of the list: nothing was measured";
  if (!ranked.speed) return "not measured";
  const SpeedEstimate& speed = *ranked.speed;
  if (!speed.fits) return speed.measured ? "does not fit its memory" : "probably does not fit";
  if (ranked.basis == SpeedBasis::kRunTimes)
    return fmt::format("runs of its kind took {}", iteration_text(speed.seconds));
  if (speed.measured)
    return fmt::format("{} an iteration (measured)", iteration_text(speed.seconds));
  return fmt::format("about {} an iteration (estimated, ± {:.0f}%)", iteration_text(speed.seconds),
                     (speed.factor - 1) * 100);
}

}  // namespace tutti
