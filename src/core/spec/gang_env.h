#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/job_spec.h"

namespace tutti {

// Where a rank of a gang runs, as the other ranks need to know it.
struct RankPlace {
  std::string node;     // its name; empty: the rank is not placed
  std::string address;  // where the others reach what it listens on
  std::vector<std::uint32_t> ports;
  std::uint32_t devices = 0;
};
using GangPlaces = std::vector<RankPlace>;  // by rank

// What TensorFlow calls a group: it writes types small, and the master of old is its chief.
std::string tensorflow_type(std::string_view group);

// Items [begin, end) of a total, as they fall to one of several ranks.
struct Shard {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool operator==(const Shard&) const = default;
};
// Every item falls to exactly one rank, and no rank gets two more than another.
Shard shard_of(std::uint64_t total, std::uint32_t rank, std::uint32_t ranks);

// A job that sets this variable to a number of items is told each rank's share of them.
inline constexpr char kShardTotal[] = "TUTTI_SHARD_TOTAL";
inline constexpr std::uint64_t kMaxShardTotal = 1'000'000'000'000'000;

// What a rank is told of itself and of the others: the neutral TUTTI_* variables, SLURM_* twins for
// those who look for them, and the variables of the job's framework. "NAME=value".
//
// A rank that is given devices sees those alone, numbered from 0. A framework that takes its local
// rank for the number of its device must therefore find 0: where a gang has devices, each rank is a
// node of its own to its framework, as it is in a pod. TUTTI_LOCAL_RANK and TUTTI_NODE_RANK tell
// where it really is.
std::vector<std::string> gang_environment(JobId job, const JobSpec& spec, std::uint32_t rank,
                                          const GangPlaces& places);

}  // namespace tutti
