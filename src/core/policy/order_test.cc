// The orders beside the fair one: what each takes first, and what may pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/ledger_checks.h"
#include "tests/support/world.h"

namespace tutti {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::broken_invariant;
using testing_support::cpus;
using testing_support::gpus;
using testing_support::node;
using testing_support::spec;
using testing_support::with_gpus;
using testing_support::World;

World world_of(Ordering ordering, std::int64_t cores) {
  World world({node("a", cores)});
  world.ordering = ordering;
  return world;
}

std::vector<JobId> started(World& world) {
  std::vector<JobId> jobs;
  for (const AttemptId& attempt : world.pass()) {
    jobs.push_back(attempt.task.job);
    world.start(attempt);
  }
  return jobs;
}

JobSpec limited(double cores, Duration limit) {
  JobSpec one = spec(cpus(cores));
  one.time_limit = limit;
  return one;
}

JobSpec of_kind(const std::string& kind, std::uint32_t tasks = 1) {
  JobSpec one = spec(cpus(1), seconds(10), tasks);
  one.kind = kind;
  return one;
}

TEST(ordering, names_are_read_and_others_are_refused_with_those_that_exist) {
  for (const std::string_view name : ordering_names())
    EXPECT_EQ(ordering_name(*parse_ordering(name)), name);
  EXPECT_EQ(parse_ordering("fifi").error().message,
            "policy: 'fifi' is none of fair, fifo, backfill, srtf, las, did you mean 'fifo'?");
}

// ---- fifo

TEST(fifo, jobs_start_in_the_order_of_submission_whatever_their_priority) {
  World world = world_of(Ordering::kFifo, 2);
  const JobId first = world.submit(spec(cpus(1)));
  const JobId second = world.submit(spec(cpus(1)));
  JobSpec urgent = spec(cpus(1));
  urgent.priority = 10;
  world.submit(urgent);
  EXPECT_THAT(started(world), ElementsAre(first, second));
  EXPECT_TRUE(world.plan.closed);
}

TEST(fifo, nothing_passes_what_does_not_fit) {
  World world = world_of(Ordering::kFifo, 4);
  world.submit(spec(cpus(3)));
  world.run();
  world.submit(spec(cpus(2)));
  world.submit(limited(1, seconds(1)));
  EXPECT_THAT(world.pass(), IsEmpty());
  EXPECT_TRUE(world.plan.closed);
  EXPECT_FALSE(world.plan.reservation.has_value());
}

TEST(fifo, an_empty_queue_is_open) {
  World world = world_of(Ordering::kFifo, 4);
  world.submit(spec(cpus(1)));
  world.run();
  EXPECT_FALSE(world.plan.closed);
}

TEST(fifo, more_groups_than_one_snapshot_shows_still_go_in_order) {
  World world = world_of(Ordering::kFifo, 1000);
  std::vector<JobId> submitted;
  // Two rounds over forty kinds: the second job of the first kind is younger than the first of the
  // last.
  for (int i = 0; i < 80; ++i)
    submitted.push_back(world.submit(of_kind("kind" + std::to_string(i % 40))));
  EXPECT_EQ(started(world), submitted);
  EXPECT_EQ(broken_invariant(world.ledger), "");
}

TEST(fifo, more_jobs_of_a_group_than_one_snapshot_shows_still_go_in_order) {
  World world = world_of(Ordering::kFifo, 1000);
  std::vector<JobId> submitted;
  for (int i = 0; i < 30; ++i)
    submitted.push_back(world.submit(of_kind(i % 10 == 9 ? "rare" : "often")));
  EXPECT_EQ(started(world), submitted);
}

TEST(fifo, a_wide_gang_blocks_the_queue) {
  World world({with_gpus(node("a", 8), 2), with_gpus(node("b", 8), 2)});
  world.ordering = Ordering::kFifo;
  JobSpec whole = spec(gpus(1, 1000));
  world.submit(whole);
  world.run();
  JobSpec gang = spec(gpus(2, 1000));
  WorkerGroup workers;
  workers.ranks.count = 2;
  workers.ranks.request = gpus(2, 1000);
  gang.gang.workers = {workers};
  gang.tasks.shape = TaskSet::Shape::kGang;
  gang.tasks.count = 2;
  world.submit(gang);
  world.submit(whole);
  EXPECT_THAT(world.pass(), IsEmpty());
  EXPECT_THAT(world.plan.gangs, IsEmpty());
  EXPECT_TRUE(world.plan.closed);
}

// ---- backfill

TEST(backfill_order, what_ends_before_the_head_can_start_may_pass) {
  World world = world_of(Ordering::kBackfill, 4);
  world.submit(limited(3, seconds(100)));
  world.run();
  world.submit(limited(2, seconds(100)));
  const JobId brief = world.submit(limited(1, seconds(100)));
  EXPECT_THAT(started(world), ElementsAre(brief));
}

TEST(backfill_order, what_would_delay_the_head_may_not) {
  World world = world_of(Ordering::kBackfill, 4);
  world.submit(limited(3, seconds(100)));
  world.run();
  world.submit(limited(4, seconds(100)));
  world.submit(limited(1, seconds(101)));
  EXPECT_THAT(world.pass(), IsEmpty());
}

TEST(backfill_order, users_do_not_take_turns) {
  World world = world_of(Ordering::kBackfill, 2);
  const JobId first = world.submit(spec(cpus(1)));
  const JobId second = world.submit(spec(cpus(1)));
  JobSpec other = spec(cpus(1));
  other.user = "bob";
  world.submit(other);
  EXPECT_THAT(started(world), ElementsAre(first, second));
}

// ---- srtf

TEST(srtf, what_is_known_to_be_short_comes_first) {
  World world = world_of(Ordering::kSrtf, 2);
  world.measured("long", seconds(1000));
  world.measured("short", seconds(10));
  world.submit(of_kind("never seen"));
  const JobId second = world.submit(of_kind("long"));
  const JobId first = world.submit(of_kind("short"));
  EXPECT_THAT(started(world), ElementsAre(first, second));
}

TEST(srtf, a_time_limit_counts_where_nothing_was_measured) {
  World world = world_of(Ordering::kSrtf, 1);
  world.submit(limited(1, seconds(100)));
  const JobId brief = world.submit(limited(1, seconds(50)));
  EXPECT_THAT(started(world), ElementsAre(brief));
}

TEST(srtf, a_job_of_many_tasks_is_as_long_as_all_of_them) {
  World world = world_of(Ordering::kSrtf, 1);
  world.measured("work", seconds(10));
  world.submit(of_kind("work", 20));
  JobSpec one = of_kind("work");
  one.priority = -1;  // a group of its own
  const JobId single = world.submit(one);
  EXPECT_THAT(started(world), ElementsAre(single));
}

// ---- las

TEST(las, who_has_had_less_comes_first) {
  World world = world_of(Ordering::kLas, 1);
  const JobId many = world.submit(of_kind("a", 10));
  world.run();
  world.wait(seconds(3600));
  world.end({many, 0});
  const JobId fresh = world.submit(of_kind("b"));
  EXPECT_THAT(started(world), ElementsAre(fresh));
}

TEST(las, what_runs_counts_too) {
  World world = world_of(Ordering::kLas, 3);
  const JobId ends = world.submit(of_kind("a"));
  world.submit(of_kind("b", 3));
  world.run();
  world.wait(seconds(3600));
  const JobId fresh = world.submit(of_kind("c"));
  world.end({ends, 0});
  EXPECT_THAT(started(world), ElementsAre(fresh));
}

TEST(las, a_little_more_service_does_not_cost_a_job_its_place) {
  World world = world_of(Ordering::kLas, 1);
  const JobId older = world.submit(of_kind("a", 2));
  world.run();
  world.wait(seconds(30));
  world.end({older, 0});
  world.submit(of_kind("b"));
  EXPECT_THAT(started(world), ElementsAre(older));
}

}  // namespace
}  // namespace tutti
