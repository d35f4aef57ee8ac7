#pragma once

#include <utility>
#include <vector>

#include "core/elastic/view.h"

namespace tutti {

// So many devices of a pool, with this rate.
inline Option option_of(std::uint32_t pool, std::uint32_t devices, double rate,
                        std::uint32_t nodes = 1) {
  return {{pool, nodes, devices}, rate};
}

// What an elastic policy decides on, built in a few words.
struct ElasticWorld {
  ElasticSnapshot snapshot;

  explicit ElasticWorld(std::vector<Pool> pools) { snapshot.pools = std::move(pools); }

  // A waiting job with 1000 units left and a start of 10 s.
  ElasticJob& job(std::uint32_t wanted, std::vector<Option> options) {
    ElasticJob job;
    job.id = JobId(snapshot.jobs.size() + 1);
    job.wanted = wanted;
    job.options = std::move(options);
    job.remaining = 1000;
    job.restart_s = 10;
    return snapshot.jobs.emplace_back(std::move(job));
  }
};

}  // namespace tutti
