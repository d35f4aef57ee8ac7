#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti {

// What a rank of a Ray cluster executes: ray_rank.py, built in by cmake/RayRank.cmake.
extern const char kRayRank[];

// The ports that a node of Ray listens on, and the head beside them: its address, its bell (by
// which it tells the others to end), the dashboard and the client server. A rank with more ports
// gives the others to Ray's worker processes, which otherwise take any that is free.
inline constexpr std::uint32_t kRayNodePorts = 6;
inline constexpr std::uint32_t kRayHeadPorts = 4 + kRayNodePorts;
inline constexpr std::size_t kRayBell = 1;  // which of the head's ports

// Rank 0 runs the command when all nodes of the cluster are in; the others are nodes. The command
// is passed on as words, of which no shell makes anything.
std::vector<std::string> ray_argv(const std::vector<std::string>& command);

}  // namespace tutti
