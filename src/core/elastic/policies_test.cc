// What is true of every elastic policy, over random snapshots of one and of three pools. Those that
// are offered every number of devices of one pool are not among them. Those that take the emptiest
// nodes are published ones, which know nothing of jobs that are being started.

#include "core/elastic/policies.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/elastic_world.h"

namespace tutti {
namespace {

using Random = std::mt19937;

std::uint32_t below(Random& random, std::uint32_t limit) {
  return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(random);
}

void add_random_job(ElasticWorld& world, Random& random) {
  std::vector<ShapeOption> options;
  const bool known = below(random, 5) > 0;
  for (std::uint32_t p = 0; p < world.snapshot.pools.size(); ++p) {
    const Pool& pool = world.snapshot.pools[p];
    double rate = 1 + below(random, 4);
    for (std::uint32_t devices = 1; devices <= pool.per_node; devices *= 2, rate *= 1.7)
      options.push_back(option_of(p, devices, known ? rate : 1));
    for (std::uint32_t nodes = 2; nodes <= pool.nodes; ++nodes, rate *= 1.2)
      options.push_back(option_of(p, nodes * pool.per_node, known ? rate : 1, nodes));
  }
  ElasticJob& job = world.job(1u << below(random, 4), std::move(options));
  job.known = known;
  job.submitted_s = below(random, 5000);
  job.remaining = 1 + below(random, 100'000);
  if (below(random, 8) == 0) job.remaining.reset();
  if (below(random, 3) == 0)
    job.wanted_pool = below(random, static_cast<std::uint32_t>(world.snapshot.pools.size()));
}

ElasticWorld random_world(Random& random) {
  ElasticWorld world(below(random, 2) == 0
                         ? std::vector<Pool>{{"t4", 6, 4}}
                         : std::vector<Pool>{{"t4", 4, 4}, {"a100", 2, 8}, {"rtx", 3, 8}});
  world.snapshot.now_s = 6000;
  world.snapshot.events_per_hour = below(random, 40);
  const std::uint32_t jobs = 1 + below(random, 30);
  for (std::uint32_t i = 0; i < jobs; ++i) add_random_job(world, random);
  return world;
}

bool fits(const ElasticSnapshot& snapshot, const Choices& choices) {
  std::vector<std::uint32_t> use(snapshot.pools.size());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (!choices[i]) continue;
    const Shape& shape = snapshot.jobs[i].options.at(*choices[i]).shape;
    use[shape.pool] += shape.devices;
  }
  for (std::size_t p = 0; p < use.size(); ++p)
    if (use[p] > snapshot.pools[p].devices()) return false;
  return true;
}

// Some rounds in which jobs take what they are given, start, run and end.
std::vector<Choices> play(const ElasticTraits& traits, ElasticSnapshot snapshot, Random random) {
  const auto policy = make_elastic_policy(traits.name);
  std::vector<Choices> all;
  for (int round = 0; round < 8; ++round) {
    const Choices choices = policy->decide(snapshot);
    EXPECT_EQ(choices.size(), snapshot.jobs.size());
    EXPECT_TRUE(fits(snapshot, choices));
    for (std::size_t i = choices.size(); i-- > 0;) {
      ElasticJob& job = snapshot.jobs[i];
      EXPECT_TRUE(!job.starting || choices[i] == job.current) << "job " << job.id.value;
      const bool starts = choices[i] && choices[i] != job.current && below(random, 2) == 0;
      job.starting = starts && traits.compact;
      job.current = choices[i];
      if (job.current) job.executed_s += 60;
      if (job.current && below(random, 10) == 0)
        snapshot.jobs.erase(snapshot.jobs.begin() + static_cast<std::ptrdiff_t>(i));
    }
    snapshot.now_s += 60;
    all.push_back(choices);
  }
  return all;
}

std::vector<ElasticTraits> general_policies() {
  std::vector<ElasticTraits> general(elastic_policies().begin(), elastic_policies().end());
  std::erase_if(general, [](const ElasticTraits& traits) { return traits.per_step; });
  return general;
}

class EveryElasticPolicy : public testing::TestWithParam<ElasticTraits> {};

TEST_P(EveryElasticPolicy, fits_the_pools_leaves_starting_jobs_alone_and_decides_alike_twice) {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const ElasticWorld world = random_world(random);
    EXPECT_EQ(play(GetParam(), world.snapshot, random), play(GetParam(), world.snapshot, random));
  }
}

TEST_P(EveryElasticPolicy, gives_a_lone_job_devices) {
  ElasticWorld world({{"t4", 2, 4}});
  world.job(1, {option_of(0, 1, 1), option_of(0, 2, 1.9)});
  EXPECT_TRUE(make_elastic_policy(GetParam().name)->decide(world.snapshot)[0]);
}

TEST_P(EveryElasticPolicy, decides_on_no_jobs_at_all) {
  ElasticWorld world({{"t4", 2, 4}});
  EXPECT_TRUE(make_elastic_policy(GetParam().name)->decide(world.snapshot).empty());
}

INSTANTIATE_TEST_SUITE_P(ByName, EveryElasticPolicy, testing::ValuesIn(general_policies()),
                         [](const auto& named) { return std::string(named.param.name); });

}  // namespace
}  // namespace tutti
