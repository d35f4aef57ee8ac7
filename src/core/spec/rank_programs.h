#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/model/gang.h"

namespace tutti {

// What ranks execute in place of their command where it alone is not enough: rank_common.py with
// ray_rank.py or mpi_rank.py, built in.
extern const char kRayRank[];
extern const char kMpiRank[];

// Shared by the ranks of one job alone: by it they know each other where they give each other
// orders over the network. Stands in the environment of the job, which others cannot read.
inline constexpr char kJobKey[] = "TUTTI_JOB_KEY";

// The ports that a node of Ray listens on, and the head beside them: its address, its bell (by
// which it tells the others to end), the dashboard and the client server. A rank with more ports
// gives the others to Ray's worker processes, which otherwise take any that is free.
inline constexpr std::uint32_t kRayNodePorts = 6;
inline constexpr std::uint32_t kRayHeadPorts = 4 + kRayNodePorts;
inline constexpr std::size_t kRayBell = 1;  // which of the head's ports

// Of a framework that has_rank_program. Rank 0 runs the command when all others are there: for Ray
// they are the nodes of its cluster, for MPI they run what the command's mpirun starts in them. The
// command is passed on as words, of which no shell makes anything.
std::vector<std::string> rank_argv(Framework framework, const std::vector<std::string>& command);

// Removes the folders that such a rank has left if it was killed: they are named after the first of
// its ports (Folder in rank_common.py).
std::vector<std::string> rank_cleanup(Framework framework, std::uint32_t port);

}  // namespace tutti
