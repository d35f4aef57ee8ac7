#pragma once

#include <cstdint>
#include <string>
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

// What a rank is told of itself and of the others: the neutral TUTTI_* and SLURM_* variables, and
// those of the job's framework. "NAME=value".
std::vector<std::string> gang_environment(JobId job, const JobSpec& spec, std::uint32_t rank,
                                          const GangPlaces& places);

}  // namespace tutti
