// Elastic jobs on the simulated cluster: they run in the shape that a policy chooses, and change
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <random>

#include "control/training_monitor.h"
#include "sim/simulation.h"
#include "tests/support/ledger_checks.h"
#include "tests/support/random_life.h"
#include "tests/support/world.h"

namespace tutti {
namespace {

using testing_support::broken_invariant;
using testing_support::difference;
using testing_support::gpus;
using testing_support::held_without_reason;
using testing_support::lives;
using testing_support::node;
using testing_support::recovered;
using testing_support::replayed;
using testing_support::spec;
using testing_support::with_gpus;

// A job of up to so many ranks. It runs until it is stopped, or `runs` after it was started last.
JobSpec elastic(Duration runs = seconds(100'000), std::uint32_t ranks = 4) {
  Request one = gpus(1);
  one.devices.sharing = Sharing::kNever;
  JobSpec made = spec(one, runs);
  WorkerGroup group;
  group.ranks = {.count = ranks, .request = one, .elastic = true};
  made.gang.workers = {group};
  return made;
}

// Knows two ways to run: on one device of the first pool, and on all of a pool.
class AnyShape : public TrainingMonitor {
 public:
  ElasticJob describe(JobId, std::span<const Pool> pools) override {
    ElasticJob job;
    for (std::uint32_t p = 0; p < pools.size(); ++p) {
      job.options.push_back({{p, 1, 1}, 1});
      if (pools[p].devices() > 1)
        job.options.push_back({{p, pools[p].nodes, pools[p].devices()}, 2});
    }
    return job;
  }
};

class Scripted : public ElasticPolicy {
 public:
  using Script = std::function<Choices(const ElasticSnapshot&)>;
  explicit Scripted(const Script& script) : script_(script) {}
  Choices decide(const ElasticSnapshot& snapshot) override { return script_(snapshot); }

 private:
  const Script& script_;
};

class ElasticTest : public ::testing::Test {
 protected:
  ElasticTest()
      : world({}, [this] {
          return ElasticRules{.policy = std::make_unique<Scripted>(script), .monitor = &monitor};
        }) {}

  // All jobs run as that option of theirs.
  void choose(std::optional<std::size_t> option) {
    script = [this, option](const ElasticSnapshot& snapshot) {
      seen = snapshot;
      Choices choices;
      for (const ElasticJob& job : snapshot.jobs)
        choices.push_back(option < job.options.size() ? option : std::nullopt);
      return choices;
    };
  }
  JobId submit(JobSpec one) {
    const Result<JobId> job = world.submit(std::move(one));
    EXPECT_TRUE(job.has_value()) << (job ? "" : job.error().message);
    return job ? *job : JobId();
  }
  // The devices that a job has on each node, by name.
  std::map<std::string, std::size_t> places(JobId id) {
    std::map<std::string, std::size_t> places;
    for (const auto& [task, attempt] : world.ledger().active())
      if (task.job == id)
        places[world.ledger().find_node(attempt.allocation.node)->name] +=
            attempt.allocation.devices.size();
    return places;
  }
  void TearDown() override {
    EXPECT_EQ(broken_invariant(world.ledger()), "");
    EXPECT_EQ(held_without_reason(world.ledger(), world.now()), "");
    EXPECT_THAT(world.executor().complaints(), testing::IsEmpty());
  }

  using Places = std::map<std::string, std::size_t>;
  Scripted::Script script;
  ElasticSnapshot seen;
  AnyShape monitor;
  Simulation world;
};

TEST_F(ElasticTest, a_job_starts_at_the_end_of_the_round_as_the_policy_says) {
  world.add_node(with_gpus(node("a", 8), 2));
  world.add_node(with_gpus(node("b", 8), 2));
  choose(1);
  const JobId job = submit(elastic());
  EXPECT_THAT(places(job), testing::IsEmpty());
  EXPECT_EQ(world.explain(job)->reasons.at(0).code, ReasonCode::kShape);
  world.advance(seconds(60));
  EXPECT_EQ(places(job), (Places{{"a", 2}, {"b", 2}}));
}

TEST_F(ElasticTest, a_change_of_shape_is_a_stop_and_a_start_and_costs_no_retry) {
  world.add_node(with_gpus(node("a", 8), 4));
  choose(0);
  const JobId job = submit(elastic());
  world.advance(seconds(60));
  EXPECT_EQ(places(job), (Places{{"a", 1}}));
  choose(1);
  world.advance(seconds(60));
  EXPECT_EQ(places(job), (Places{{"a", 4}}));
  EXPECT_EQ(world.ledger().attempts_of({job, 0}), 2u);
  EXPECT_EQ(world.ledger().find_job(job)->slots.at(0).retries_used, 0u);
  EXPECT_EQ(seen.jobs.at(0).executed_s, 60);
  EXPECT_EQ(seen.jobs.at(0).attained_s, 60);
}

TEST_F(ElasticTest, jobs_that_swap_their_places_both_start_again) {
  world.add_node(with_gpus(node("a", 8), 1, 40960, "A100"));
  world.add_node(with_gpus(node("v", 8), 1, 40960, "V100"));
  script = [](const ElasticSnapshot&) { return Choices{0, 1}; };
  const JobId first = submit(elastic());
  const JobId second = submit(elastic());
  world.advance(seconds(60));
  EXPECT_EQ(places(first), (Places{{"a", 1}}));
  script = [](const ElasticSnapshot&) { return Choices{1, 0}; };
  world.advance(seconds(60));
  EXPECT_EQ(places(first), (Places{{"v", 1}}));
  EXPECT_EQ(places(second), (Places{{"a", 1}}));
}

TEST_F(ElasticTest, one_that_ends_needs_no_ranks_that_its_shape_had_no_use_for) {
  world.add_node(with_gpus(node("a", 8), 4));
  choose(1);
  const JobId job = submit(elastic(seconds(30)));
  world.advance(seconds(100));
  EXPECT_EQ(world.state_of(job), TaskState::kSucceeded);
  EXPECT_EQ(world.store().load_job(job)->counts[TaskState::kSucceeded], 4u);
}

TEST_F(ElasticTest, one_that_fails_is_tried_again_where_it_was) {
  world.add_node(with_gpus(node("a", 8), 4));
  choose(1);
  JobSpec failing = elastic();
  failing.retry.max = 1;
  SimCommand command{.runs = seconds(30)};
  command.exit_code = 3;
  command.fails = 1;
  failing.command.argv = command.argv();
  const JobId job = submit(failing);
  world.advance(seconds(95));
  EXPECT_EQ(places(job), (Places{{"a", 4}}));
  ASSERT_TRUE(world.run_until_idle(seconds(1000)));
  EXPECT_EQ(world.state_of(job), TaskState::kSucceeded);
}

TEST_F(ElasticTest, one_that_backs_off_leaves_its_devices_to_others) {
  world.add_node(with_gpus(node("a", 8), 1));
  script = [](const ElasticSnapshot& snapshot) {
    Choices choices(snapshot.jobs.size());
    choices.front() = 0;
    return choices;
  };
  JobSpec failing = elastic();
  failing.retry = {.max = 1, .backoff = seconds(200)};
  SimCommand command{.runs = seconds(30)};
  command.exit_code = 3;
  command.fails = 1;
  failing.command.argv = command.argv();
  const JobId first = submit(failing);
  const JobId second = submit(elastic());
  world.advance(seconds(60));
  EXPECT_EQ(places(first), (Places{{"a", 1}}));
  world.advance(seconds(60));
  EXPECT_EQ(places(second), (Places{{"a", 1}}));
  world.advance(seconds(180));
  EXPECT_EQ(places(first), (Places{{"a", 1}}));
  EXPECT_THAT(places(second), testing::IsEmpty());
}

TEST_F(ElasticTest, devices_that_a_stopping_job_still_has_are_waited_for) {
  world.add_node(with_gpus(node("a", 8), 1));
  script = [](const ElasticSnapshot& snapshot) {
    return snapshot.jobs.size() == 1 ? Choices{0} : Choices{std::nullopt, 0};
  };
  JobSpec stubborn = elastic();
  stubborn.command.argv.push_back("ignores-stop");
  stubborn.grace = seconds(20);
  const JobId first = submit(stubborn);
  world.advance(seconds(60));
  const JobId second = submit(elastic());
  world.advance(seconds(60 + 19));
  EXPECT_EQ(places(first), (Places{{"a", 1}}));
  EXPECT_THAT(places(second), testing::IsEmpty());
  world.advance(seconds(1));
  EXPECT_THAT(places(first), testing::IsEmpty());
  EXPECT_EQ(places(second), (Places{{"a", 1}}));
}

TEST_F(ElasticTest, what_other_jobs_have_is_in_no_pool) {
  world.add_node(with_gpus(node("a", 8), 2));
  world.add_node(with_gpus(node("b", 8), 2));
  Request one = gpus(1);
  one.devices.sharing = Sharing::kNever;
  one.labels = {"a"};
  submit(spec(one, seconds(100'000)));
  choose(1);
  const JobId job = submit(elastic());
  world.advance(seconds(60));
  ASSERT_EQ(seen.pools.size(), 1u);
  EXPECT_EQ(seen.pools[0].nodes, 1u);
  EXPECT_EQ(places(job), (Places{{"b", 2}}));
}

TEST_F(ElasticTest, a_drained_node_keeps_its_job_as_it_is_and_gets_no_other) {
  world.add_node(with_gpus(node("a", 8), 2));
  world.add_node(with_gpus(node("b", 8), 2));
  choose(1);
  const JobId job = submit(elastic());
  world.advance(seconds(60));
  ASSERT_TRUE(world.set_node_state("a", Node::State::kDraining));
  choose(0);
  const JobId other = submit(elastic());
  world.advance(seconds(60));
  EXPECT_EQ(places(job), (Places{{"a", 2}, {"b", 2}}));
  EXPECT_THAT(places(other), testing::IsEmpty());
}

TEST_F(ElasticTest, a_new_controller_goes_on_from_what_runs) {
  world.add_node(with_gpus(node("a", 8), 4));
  choose(1);
  const JobId job = submit(elastic());
  world.advance(seconds(60));
  world.restart_controller();
  world.advance(seconds(60));
  EXPECT_EQ(seen.jobs.at(0).current, 1u);
  EXPECT_EQ(places(job), (Places{{"a", 4}}));
  EXPECT_EQ(world.ledger().attempts_of({job, 0}), 1u);
}

TEST_F(ElasticTest, one_that_is_cancelled_leaves_its_devices_to_others) {
  world.add_node(with_gpus(node("a", 8), 1));
  script = [](const ElasticSnapshot& snapshot) {
    return snapshot.jobs.size() == 1 ? Choices{0} : Choices{0, std::nullopt};
  };
  const JobId first = submit(elastic());
  const JobId second = submit(elastic());
  world.advance(seconds(60));
  ASSERT_TRUE(world.cancel(first));
  EXPECT_EQ(world.state_of(first), TaskState::kCancelled);
  world.advance(seconds(60));
  EXPECT_EQ(places(second), (Places{{"a", 1}}));
}

TEST_F(ElasticTest, without_a_policy_such_jobs_are_refused) {
  Simulation plain;
  plain.add_node(with_gpus(node("a", 8), 1));
  const Result<JobId> job = plain.submit(elastic());
  ASSERT_FALSE(job);
  EXPECT_THAT(job.error().message, testing::HasSubstr("are not scheduled here"));
}

// Whatever a policy chooses that fits the pools, and whatever else happens.
TEST_F(ElasticTest, no_life_breaks_anything) {
  for (std::uint32_t seed = 1; seed <= lives(48); ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&random](std::uint64_t limit) { return random() % limit; };
    script = [&](const ElasticSnapshot& snapshot) {
      Choices choices(snapshot.jobs.size());
      std::vector<std::uint32_t> left;
      for (const Pool& pool : snapshot.pools) left.push_back(pool.devices());
      const auto take = [&](std::size_t j, std::size_t option) {
        const Shape& shape = snapshot.jobs[j].options[option].shape;
        if (shape.devices > left[shape.pool]) return;
        left[shape.pool] -= shape.devices;
        choices[j] = option;
      };
      for (std::size_t j = 0; j < choices.size(); ++j)
        if (snapshot.jobs[j].starting) take(j, *snapshot.jobs[j].current);
      for (std::size_t j = 0; j < choices.size(); ++j) {
        const std::size_t options = snapshot.jobs[j].options.size();
        if (!choices[j] && options > 0 && below(3) > 0) take(j, below(options));
      }
      return choices;
    };
    Simulation life({}, [this] {
      return ElasticRules{.policy = std::make_unique<Scripted>(script), .monitor = &monitor};
    });
    for (int i = 0; i < 3; ++i)
      life.add_node(with_gpus(node(std::string(1, static_cast<char>('a' + i)), 8), 2, 40960,
                              below(2) == 0 ? "A100" : "V100"));
    std::vector<JobId> jobs;
    for (int i = 0; i < 40; ++i) {
      JobSpec one = below(4) == 0 ? spec(gpus(1, 1000, 40960), seconds(90)) : elastic(seconds(150));
      one.retry.max = 2;
      if (below(5) == 0) one.command.argv.push_back("exit=1");
      if (below(5) == 0) one.command.argv.push_back("ignores-stop");
      if (below(2) == 0)
        if (const Result<JobId> job = life.submit(std::move(one))) jobs.push_back(*job);
      if (below(8) == 0 && !jobs.empty()) (void)life.cancel(jobs[below(jobs.size())]);
      if (below(9) == 0)
        (void)life.set_node_state("a", below(2) == 0 ? Node::State::kDraining : Node::State::kUp);
      if (below(15) == 0) life.kill_executor();
      if (below(10) == 0) life.restart_controller();
      if (below(6) == 0) life.store().fail_next(static_cast<std::uint32_t>(1 + below(3)));
      life.advance(seconds(static_cast<std::int64_t>(1 + below(70))));
      life.store().fail_next(0);
      life.advance(seconds(1));
      ASSERT_EQ(broken_invariant(life.ledger()), "") << "seed " << seed;
      ASSERT_EQ(held_without_reason(life.ledger(), life.now()), "") << "seed " << seed;
      const Ledger again = replayed(life.store().journal(), life.now());
      ASSERT_EQ(difference(life.ledger(), again), "") << "seed " << seed;
      const Ledger anew = recovered(*life.store().recover(), life.now());
      ASSERT_EQ(difference(life.ledger(), anew), "") << "seed " << seed;
    }
    ASSERT_THAT(life.executor().complaints(), testing::IsEmpty()) << "seed " << seed;
    (void)life.set_node_state("a", Node::State::kUp);
    ASSERT_TRUE(life.run_until_idle(seconds(1'000'000))) << "seed " << seed;
    ASSERT_EQ(life.ledger().totals().unfinished(), 0u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tutti
