// What must be true of every run, tried on thousands of random clusters. A failure prints its seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <tuple>
#include <vector>

#include "sim/timeline.h"
#include "tests/support/ledger_checks.h"
#include "tests/support/random_life.h"

namespace tutti {
namespace {

using testing_support::broken_invariant;
using testing_support::difference;
using testing_support::Hardships;
using testing_support::held_without_reason;
using testing_support::lives;
using testing_support::RandomLife;
using testing_support::recovered;
using testing_support::replayed;

constexpr Hardships kAll{
    .restarts = true, .lost_executors = true, .full_disks = true, .drains = true};

// Lives `lives` random lives of `acts` acts each, with a check after each act.
template <typename Check>
void live(std::uint32_t usual, int acts, Hardships hardships, Check check) {
  for (std::uint32_t seed = 1; seed <= lives(usual); ++seed) {
    RandomLife life(seed, hardships);
    for (int act = 0; act < acts; ++act) {
      life.act();
      const std::string broken = check(life);
      ASSERT_EQ(broken, "") << "seed " << seed << ", act " << act;
    }
  }
}

TEST(properties, nothing_is_over_allocated_and_all_counts_are_right) {
  live(400, 40, kAll, [](RandomLife& life) { return broken_invariant(life.simulation.ledger()); });
}

TEST(properties, gangs_of_several_groups_live_among_the_others) {
  std::size_t begun = 0;
  live(200, 40, {}, [&](RandomLife& life) -> std::string {
    for (const auto& [id, job] : life.simulation.ledger().jobs())
      begun += life.simulation.ledger().ranks_of(job).size() > 1 && job.counts.active() > 1 ? 1 : 0;
    return "";
  });
  EXPECT_GT(begun, 20u);
}

TEST(properties, every_held_task_has_a_reason) {
  live(100, 40, kAll, [](RandomLife& life) {
    return held_without_reason(life.simulation.ledger(), life.simulation.now());
  });
}

TEST(properties, the_same_snapshot_gives_the_same_plan) {
  live(100, 40, kAll, [](RandomLife& life) -> std::string {
    const Ledger copy = life.simulation.ledger();
    const TimePoint now = life.simulation.now();
    const bool same =
        decide(snapshot_of(life.simulation.ledger(), now)) == decide(snapshot_of(copy, now));
    return same ? "" : "two plans for one snapshot";
  });
}

TEST(properties, the_replayed_journal_is_the_live_ledger) {
  const Hardships hardships{.restarts = true, .lost_executors = true, .drains = true};
  live(150, 40, hardships, [](RandomLife& life) {
    return difference(life.simulation.ledger(),
                      replayed(life.simulation.store().journal(), life.simulation.now()));
  });
}

TEST(properties, the_recovered_ledger_is_the_live_ledger) {
  const Hardships hardships{.lost_executors = true, .drains = true};
  live(150, 40, hardships, [](RandomLife& life) {
    return difference(life.simulation.ledger(),
                      recovered(*life.simulation.store().recover(), life.simulation.now()));
  });
}

// Why a job has not ended; empty: it has.
std::string unfinished(Simulation& simulation, JobId job) {
  const TaskState state = simulation.state_of(job);
  if (is_final(state)) return {};
  std::string why = task_state_name(state);
  const Result<Explanation> explanation = simulation.explain(job);
  if (!explanation) return why + ": " + explanation.error().message;
  for (const Reason& reason : explanation->reasons) why += ", " + text_of(reason, simulation.now());
  return why;
}

TEST(properties, everything_ends_and_no_executor_complains) {
  for (std::uint32_t seed = 1; seed <= lives(400); ++seed) {
    RandomLife life(seed, kAll);
    for (int act = 0; act < 60; ++act) life.act();
    ASSERT_TRUE(life.finish()) << "seed " << seed;
    for (const JobId job : life.jobs)
      ASSERT_EQ(unfinished(life.simulation, job), "") << "seed " << seed << " job " << job.value;
    ASSERT_THAT(life.simulation.executor().complaints(), testing::IsEmpty()) << "seed " << seed;
    ASSERT_EQ(life.simulation.ledger().active().size(), 0u) << "seed " << seed;
    for (const Node& node : life.simulation.ledger().nodes())
      ASSERT_EQ(node.free_cpus, node.cpus) << "seed " << seed;
  }
}

// Every run of a life without hardships, with or without restarts of the controller.
std::vector<std::tuple<AttemptId, TimePoint, TimePoint>> runs_of(std::uint32_t seed,
                                                                 bool restarts) {
  // Without limits for nodes: what waits for room beside a reservation may find some by mere
  // passing of time, and a restart looks for it when nothing else does.
  RandomLife life(seed, {.cancels = false, .node_limits = false});
  life.simulation.executor().set_report_delay(Duration());
  std::mt19937 random(seed);
  for (int act = 0; act < 60; ++act) {
    life.act();
    if (restarts && random() % 4 == 0) life.simulation.restart_controller();
  }
  life.finish();
  const Timeline timeline(life.simulation.store().journal());
  std::vector<std::tuple<AttemptId, TimePoint, TimePoint>> runs;
  for (const auto& [attempt, run] : timeline.runs())
    runs.emplace_back(attempt, run.started_at, run.ended_at);
  return runs;
}

TEST(properties, restarts_of_the_controller_change_nothing) {
  for (std::uint32_t seed = 1; seed <= lives(150); ++seed)
    ASSERT_EQ(runs_of(seed, false), runs_of(seed, true)) << "seed " << seed;
}

TEST(properties, within_a_group_the_oldest_task_is_next) {
  live(100, 40, kAll, [](RandomLife& life) -> std::string {
    const Ledger& ledger = life.simulation.ledger();
    for (std::uint32_t group = 0; group < ledger.groups().size(); ++group) {
      const std::optional<TaskId> next = ledger.next_ready(group);
      for (const auto& [id, job] : ledger.jobs()) {
        if (job.group != group || job.listed == 0 || !next) continue;
        if (id < next->job) return "a younger job comes first";
        for (std::uint32_t index = 0; id == next->job && index < next->index; ++index) {
          if (job.state_of(index) == TaskState::kQueued && !ledger.not_before({id, index}))
            return "a younger task comes first";
        }
      }
    }
    return "";
  });
}

}  // namespace
}  // namespace tutti
