// How long the policy for elastic jobs takes to decide, on clusters of several sizes.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "core/elastic/policies.h"

namespace tutti {
namespace {

ElasticSnapshot cluster(std::uint32_t nodes_of_each, std::uint32_t jobs, std::mt19937& dice) {
  std::uniform_real_distribution<double> part(0, 1);
  ElasticSnapshot snapshot;
  snapshot.pools = {
      {"t4", 2 * nodes_of_each, 4}, {"a100", nodes_of_each, 8}, {"rtx", nodes_of_each, 8}};
  snapshot.events_per_hour = 40;
  for (std::uint32_t j = 0; j < jobs; ++j) {
    ElasticJob job;
    job.id = JobId(j + 1);
    job.restart_s = 20 + 200 * part(dice);
    job.remaining = 1000 + 100'000 * part(dice);
    for (std::uint32_t p = 0; p < snapshot.pools.size(); ++p) {
      const double speed = 0.5 + 4 * part(dice);
      const double power = 0.5 + 0.5 * part(dice);
      const Pool& pool = snapshot.pools[p];
      for (std::uint32_t n = 1; n <= std::min(pool.devices(), 64u); n *= 2) {
        const std::uint32_t nodes = std::max(n / pool.per_node, 1u);
        job.options.push_back({{p, nodes, n}, speed * std::pow(n, power)});
      }
    }
    snapshot.jobs.push_back(std::move(job));
  }
  return snapshot;
}

// Rounds in which some jobs end and others come; prints the median and the 95th percentile.
void measure(std::uint32_t nodes_of_each, std::uint32_t jobs) {
  std::mt19937 dice(1);
  const auto policy = make_elastic_policy("tutti");
  ElasticSnapshot snapshot = cluster(nodes_of_each, jobs, dice);
  std::vector<double> took;
  std::uint64_t next = jobs;
  for (int round = 0; round < 60; ++round) {
    const auto began = std::chrono::steady_clock::now();
    const Choices choices = policy->decide(snapshot);
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - began;
    took.push_back(ms.count());
    snapshot.now_s += 60;
    for (std::size_t j = 0; j < choices.size(); ++j) snapshot.jobs[j].current = choices[j];
    for (std::uint32_t k = 0; k < std::max(jobs / 20, 1u); ++k) {
      snapshot.jobs.erase(snapshot.jobs.begin() + static_cast<std::ptrdiff_t>(dice() % jobs));
      ElasticJob fresh = cluster(nodes_of_each, 1, dice).jobs[0];
      fresh.id = JobId(++next);
      snapshot.jobs.push_back(std::move(fresh));
    }
  }
  std::sort(took.begin(), took.end());
  std::uint32_t devices = 0;
  for (const Pool& pool : snapshot.pools) devices += pool.devices();
  std::printf("%u devices, %u jobs: %.2f ms median, %.2f ms p95\n", devices, jobs,
              took[took.size() / 2], took[took.size() * 95 / 100]);
}

}  // namespace
}  // namespace tutti

int main() {
  tutti::measure(2, 8);
  tutti::measure(3, 16);
  tutti::measure(85, 300);
}
