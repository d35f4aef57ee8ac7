#include "core/spec/gang_env.h"

#include <algorithm>

namespace tutti {
namespace {

// A rank's place among the ranks of its node and of its group.
struct Position {
  std::uint32_t local_rank = 0;
  std::uint32_t local_size = 0;
  std::uint32_t node_rank = 0;
  std::uint32_t nodes = 0;
};

Position position_of(const GangPlaces& places, std::uint32_t rank) {
  Position position;
  std::vector<std::string> nodes;  // in the order of their first ranks
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    const std::string& node = places[i].node;
    if (node.empty()) continue;
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
    if (node != places[rank].node) continue;
    position.local_rank += i < rank ? 1 : 0;
    ++position.local_size;
  }
  position.nodes = static_cast<std::uint32_t>(nodes.size());
  position.node_rank = static_cast<std::uint32_t>(
      std::find(nodes.begin(), nodes.end(), places[rank].node) - nodes.begin());
  return position;
}

}  // namespace

std::vector<std::string> gang_environment(JobId /*job*/, const JobSpec& spec, std::uint32_t rank,
                                          const GangPlaces& places) {
  const Position position = position_of(places, rank);
  std::vector<RankGroup> groups;
  for (const WorkerGroup& group : spec.gang.workers) groups.push_back(group.ranks);
  const RankPosition in_group = position_of_rank(groups, rank);
  const WorkerGroup& group = spec.gang.workers[in_group.group];
  std::vector<std::string> env;
  const auto set = [&](const char* name, const std::string& value) {
    env.push_back(std::string(name) + "=" + value);
  };
  set("TUTTI_LOCAL_RANK", std::to_string(position.local_rank));
  set("TUTTI_LOCAL_WORLD_SIZE", std::to_string(position.local_size));
  set("TUTTI_NODE_RANK", std::to_string(position.node_rank));
  set("TUTTI_NODE_COUNT", std::to_string(position.nodes));
  set("TUTTI_GROUP", group.name);
  set("TUTTI_GROUP_RANK", std::to_string(in_group.index));
  set("TUTTI_GROUP_SIZE", std::to_string(group.ranks.count));
  set("TUTTI_MASTER_ADDR", places.front().address);
  if (!places.front().ports.empty())
    set("TUTTI_MASTER_PORT", std::to_string(places.front().ports.front()));
  return env;
}

}  // namespace tutti
