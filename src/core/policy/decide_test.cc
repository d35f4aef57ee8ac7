#include "core/policy/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "tests/support/ledger_checks.h"
#include "tests/support/world.h"

namespace tutti {
namespace {

using testing::IsEmpty;
using testing_support::broken_invariant;
using testing_support::cpus;
using testing_support::gpus;
using testing_support::node;
using testing_support::spec;
using testing_support::with_gpus;
using testing_support::World;

TEST(decide, nothing_to_do_is_an_empty_plan) {
  World world({node("a", 4)});
  EXPECT_EQ(decide(snapshot_of(world.ledger, world.now)), Plan());
}

TEST(decide, all_that_fits_starts_at_once) {
  World world({node("a", 4), node("b", 4)});
  world.submit(spec(cpus(1), seconds(1), 100));
  EXPECT_EQ(world.pass().size(), 8u);
}

TEST(decide, many_jobs_do_not_share_one_allocation) {
  World world({node("a", 4)});
  for (int i = 0; i < 10; ++i) world.submit(spec(cpus(3)));
  EXPECT_EQ(world.pass().size(), 1u);
  EXPECT_EQ(broken_invariant(world.ledger), "");
}

TEST(decide, eighty_tasks_of_018_gpu_are_placed_on_16_gpus_at_once) {
  World world({with_gpus(node("a", 64), 8), with_gpus(node("b", 64), 8)});
  world.submit(spec(gpus(1, 180), seconds(1), 80));
  EXPECT_EQ(world.pass().size(), 80u);
  EXPECT_EQ(broken_invariant(world.ledger), "");
}

TEST(decide, ten_tasks_of_06_gpu_are_placed_on_16_gpus_at_once) {
  World world({with_gpus(node("a", 64), 8), with_gpus(node("b", 64), 8)});
  world.submit(spec(gpus(1, 600), seconds(1), 10));
  EXPECT_EQ(world.pass().size(), 10u);
}

TEST(decide, an_impossible_job_does_not_block_the_rest) {
  World world({node("a", 4)});
  world.submit(spec(cpus(100)));
  world.submit(spec(gpus(1)));
  const JobId possible = world.submit(spec(cpus(4)));
  EXPECT_THAT(world.pass(), testing::ElementsAre(AttemptId{{possible, 0}, 1}));
}

TEST(decide, nothing_starts_on_a_node_that_is_draining_or_down) {
  Node draining = node("a", 4);
  draining.state = Node::State::kDraining;
  Node down = node("b", 4);
  down.state = Node::State::kDown;
  World world({draining, down});
  world.submit(spec(cpus(1)));
  EXPECT_THAT(world.pass(), IsEmpty());
  EXPECT_FALSE(world.plan.reservation);
}

TEST(decide, what_others_use_may_keep_a_job_waiting_but_is_not_for_ever) {
  Node busy = with_gpus(node("a", 4), 1);
  busy.devices[0].foreign = MiB(70000);
  World gpu({busy});
  gpu.submit(spec(gpus(1)));
  EXPECT_THAT(gpu.pass(), IsEmpty());
  EXPECT_TRUE(gpu.plan.reservation);

  Node loaded = node("a", 4);
  loaded.foreign_cpus = MilliCpu(3000);
  World cpu({loaded});
  cpu.submit(spec(cpus(2)));
  const JobId small = cpu.submit(spec(cpus(1)));
  EXPECT_THAT(cpu.pass(),
              testing::Each(testing::Field(&AttemptId::task, testing::Field(&TaskId::job, small))));
}

TEST(decide, work_goes_elsewhere_only_if_it_is_meant_to) {
  Node here = node("a", 1);
  Node there = node("b", 4);
  there.remote.address = "b";
  there.labels = {"pool"};
  World world({here, there});
  world.submit(spec(cpus(1), seconds(1), 3));
  EXPECT_EQ(world.pass().size(), 1u);
  for (const char* label : {"pool", "b", "x|b"}) {
    JobSpec meant = spec(cpus(1));
    meant.request.labels = {label};
    world.submit(meant);
    EXPECT_EQ(world.pass().size(), 1u) << label;
  }
  JobSpec other = spec(cpus(1));
  other.request.labels = {"a|c", "pool"};
  world.submit(other);
  EXPECT_THAT(world.pass(), IsEmpty());
}

TEST(decide, a_node_runs_at_most_as_many_as_it_may) {
  Node limited = node("a", 8);
  limited.max_jobs = 2;
  World world({limited});
  world.submit(spec(cpus(1), seconds(1), 5));
  EXPECT_EQ(world.pass().size(), 2u);
  EXPECT_EQ(broken_invariant(world.ledger), "");
}

JobSpec limited_to(std::vector<NodeLimit> limits, std::uint32_t tasks) {
  JobSpec one = spec(cpus(1), seconds(10), tasks);
  one.node_limits = std::move(limits);
  return one;
}

std::map<std::string, int> per_node(World& world, JobId job) {
  std::map<std::string, int> placed;
  for (const auto& [task, attempt] : world.ledger.active())
    if (task.job == job) ++placed[world.ledger.find_node(attempt.allocation.node)->name];
  return placed;
}

TEST(decide, a_job_has_at_most_as_many_tasks_on_a_node_as_it_wants) {
  World world({node("a", 8), node("b", 8), node("c", 2)});
  const JobId job = world.submit(limited_to({{"a", 2}, {"b", 3}}, 20));
  world.run();
  EXPECT_EQ(per_node(world, job), (std::map<std::string, int>{{"a", 2}, {"b", 3}, {"c", 2}}));
  EXPECT_THAT(world.pass(), IsEmpty());
  world.end(world.ledger.active().begin()->first);
  EXPECT_EQ(world.pass().size(), 1u);
  EXPECT_EQ(broken_invariant(world.ledger), "");
}

TEST(decide, equal_jobs_have_each_its_own_limits) {
  World world({node("a", 8)});
  const JobId first = world.submit(limited_to({{"a", 2}}, 5));
  const JobId second = world.submit(limited_to({{"a", 2}}, 5));
  world.pass();
  EXPECT_EQ(per_node(world, first)["a"], 2);
  EXPECT_EQ(per_node(world, second)["a"], 2);
}

TEST(decide, a_job_at_its_own_limits_keeps_no_room_from_others) {
  World world({node("a", 4)});
  world.submit(limited_to({{"a", 1}}, 5));
  world.submit(spec(cpus(1), seconds(10), 5));
  EXPECT_EQ(world.pass().size(), 4u);
  EXPECT_EQ(world.plan.reservation->group, 1u);
}

TEST(decide, room_is_kept_for_a_limited_job_only_where_it_may_have_more) {
  World world({node("a", 2), node("b", 2)});
  JobSpec large = limited_to({{"a", 1}, {"b", 1}}, 3);
  large.request = cpus(2);
  large.time_limit = seconds(10);
  world.submit(large);
  world.run();
  world.end(world.ledger.active().begin()->first);
  JobSpec urgent = spec(cpus(1));
  urgent.priority = 1;
  world.submit(urgent);
  world.pass();
  ASSERT_TRUE(world.plan.reservation);
  EXPECT_EQ(world.plan.reservation->parts.front().node,
            world.ledger.find_active({JobId(2), 0})->allocation.node);
}

TEST(decide, more_jobs_than_a_snapshot_shows_are_placed_in_further_passes) {
  World world({node("a", 100)});
  for (int i = 0; i < 50; ++i) world.submit(spec(cpus(1)));
  const Plan first = decide(snapshot_of(world.ledger, world.now));
  EXPECT_TRUE(first.more);
  EXPECT_EQ(first.starts.size(), Snapshot::kHeads);
  EXPECT_EQ(world.pass().size(), 50u);
}

TEST(decide, two_users_get_half_each) {
  World world({node("a", 10)});
  JobSpec bob = spec(cpus(1), seconds(1), 100);
  bob.user = "bob";
  const JobId first = world.submit(spec(cpus(1), seconds(1), 100));
  const JobId second = world.submit(bob);
  std::map<JobId, int> placed;
  for (const AttemptId& attempt : world.pass()) ++placed[attempt.task.job];
  EXPECT_EQ(placed[first], 5);
  EXPECT_EQ(placed[second], 5);
}

TEST(snapshot, too_few_samples_say_nothing) {
  World world({node("a", 1)});
  Profile two;
  for (int i = 0; i < 2; ++i) two.add(seconds(5), MiB(1));
  world.ledger.restore_profile("job", two);
  world.submit(spec(cpus(1)));
  EXPECT_EQ(snapshot_of(world.ledger, world.now).groups.at(0).bound(), Duration());
  two.add(seconds(5), MiB(1));
  world.ledger.restore_profile("job", two);
  EXPECT_GT(snapshot_of(world.ledger, world.now).groups.at(0).bound(), seconds(4));
}

TEST(snapshot, a_run_that_outlives_its_history_is_planned_to_go_on_but_not_told_to) {
  World world({node("a", 1)});
  world.measured("job", seconds(5));
  world.submit(spec(cpus(1)));
  world.run();
  world.wait(seconds(60));
  const Snapshot snapshot = snapshot_of(world.ledger, world.now);
  EXPECT_EQ(snapshot.running.at(0).bound_end, world.now + seconds(60));
  EXPECT_FALSE(snapshot.running.at(0).likely_end);
  EXPECT_TRUE(snapshot.running.at(0).outlasted());
}

TEST(snapshot, equal_jobs_are_one_group) {
  World world({node("a", 1)});
  for (int i = 0; i < 5; ++i) world.submit(spec(cpus(1)));
  world.submit(spec(cpus(2)));
  const Snapshot snapshot = snapshot_of(world.ledger, world.now);
  ASSERT_EQ(snapshot.groups.size(), 2u);
  EXPECT_EQ(snapshot.groups[0].ready, 5u);
}

// Jobs of one user that each want something else.
std::vector<JobId> submit_different(World& world, const std::string& user, int count,
                                    Request each) {
  std::vector<JobId> jobs;
  for (int i = 1; i <= count; ++i) {
    JobSpec one = spec(each);
    one.user = user;
    one.time_limit = seconds(10'000 + i);
    jobs.push_back(world.submit(one));
  }
  return jobs;
}

TEST(decide, of_a_very_long_queue_only_so_many_groups_are_looked_at) {
  World world({node("a", 4)});
  submit_different(world, "ann", 1, cpus(3));
  world.run();
  submit_different(world, "ann", 4'000, cpus(2));
  const JobId ann = submit_different(world, "ann", 1, cpus(1)).front();
  world.pass();
  EXPECT_EQ(world.state({ann, 0}), TaskState::kQueued);
  EXPECT_EQ(world.why(ann).reasons.front().code, ReasonCode::kBehind);
  EXPECT_EQ(world.why(ann).reasons.front().count, 4'000u);
  EXPECT_THAT(world.why(ann).remedies,
              testing::Contains("a higher --priority than what waits before it"));
  const JobId bob = submit_different(world, "bob", 1, cpus(1)).front();
  EXPECT_EQ(world.why(bob).reasons.front().code, ReasonCode::kStarting);
  world.pass();
  EXPECT_EQ(world.state({bob, 0}), TaskState::kPlaced);
}

TEST(decide, a_very_long_queue_starts_as_far_as_there_is_room) {
  for (const Ordering ordering : {Ordering::kFair, Ordering::kBackfill}) {
    World world({node("a", 4'300)});
    world.ordering = ordering;
    const auto ann = submit_different(world, "ann", 2'500, cpus(1));
    const auto bob = submit_different(world, "bob", 2'500, cpus(1));
    EXPECT_EQ(world.pass().size(), 4'300u);
    EXPECT_EQ(world.state({ann.front(), 0}), TaskState::kPlaced);
    EXPECT_EQ(world.state({bob.back(), 0}), TaskState::kQueued);
  }
}

TEST(decide, whether_those_that_can_only_wait_are_looked_at_changes_no_plan) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::minstd_rand random(seed + 1);
    const auto below = [&](std::uint32_t most) {
      return static_cast<std::uint32_t>(random() % most);
    };
    World world({node("a", 4), node("b", 2), with_gpus(node("c", 6), 2)});
    world.ordering =
        std::array{Ordering::kFair, Ordering::kBackfill, Ordering::kLas, Ordering::kSrtf}[seed % 4];
    for (int step = 0; step < 40; ++step) {
      JobSpec one =
          spec(below(4) == 0 ? gpus(1, 500) : cpus(1 + below(6)), seconds(10), 1 + below(3));
      one.user = std::array{"ann", "bob", "cid"}[below(3)];
      one.time_limit = seconds(below(3) * 100);
      one.priority = static_cast<std::int32_t>(below(2));
      world.submit(one);
      world.wait(seconds(below(2000)));
      const auto plan_for = [&](Reach reach) {
        return decide(snapshot_of(world.ledger, world.now, world.ordering, reach));
      };
      ASSERT_EQ(plan_for(Reach::kNear), plan_for(Reach::kAll)) << seed << " " << step;
      world.run();
      if (below(2) == 0 && !world.ledger.active().empty()) {
        const auto& active = world.ledger.active();
        TaskId first = active.begin()->first;
        for (const auto& [task, attempt] : active) first = std::min(first, task);
        world.end(first);
      }
    }
  }
}

// A gang that finds no room says nothing about another one of other ranks.
TEST(decide, a_gang_that_does_not_fit_does_not_hide_one_that_does) {
  World world({with_gpus(node("a", 8), 2), with_gpus(node("b", 8), 2)});
  const auto gang_of = [](std::uint32_t ranks, std::uint32_t each, const std::string& user) {
    JobSpec gang = spec(gpus(each, 1000));
    WorkerGroup workers;
    workers.ranks.count = ranks;
    workers.ranks.request = gpus(each, 1000);
    gang.gang.workers = {workers};
    gang.tasks.shape = TaskSet::Shape::kGang;
    gang.tasks.count = ranks;
    gang.user = user;
    return gang;
  };
  world.submit(gang_of(3, 2, "ann"));
  world.submit(gang_of(3, 2, "bob"));
  const JobId fits = world.submit(gang_of(2, 2, "cid"));
  world.pass();
  ASSERT_EQ(world.plan.gangs.size(), 1u);
  EXPECT_EQ(world.plan.gangs[0].job, fits);
}

}  // namespace
}  // namespace tutti
