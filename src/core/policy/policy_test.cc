// Use, fair order, placement, backfill and lookahead, each by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/model/usage.h"
#include "core/policy/backfill.h"
#include "core/policy/fair_order.h"
#include "core/policy/workspace.h"
#include "tests/support/ledger_checks.h"
#include "tests/support/world.h"

namespace tutti {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::cpus;
using testing_support::gpus;
using testing_support::kNow;
using testing_support::node;
using testing_support::spec;
using testing_support::with_backlog;
using testing_support::with_gpus;
using testing_support::World;

JobSpec of(const std::string& user, const std::string& project = "default") {
  JobSpec one = spec(cpus(1));
  one.user = user;
  one.project = project;
  return one;
}

// ---- usage
// ---------------------------------------------------------------------------------------

TEST(usage, it_halves_every_week) {
  Usage usage;
  usage.charge({"p", "ann"}, 100, kNow);
  EXPECT_DOUBLE_EQ(usage.of({"p", "ann"}, kNow), 100);
  EXPECT_DOUBLE_EQ(usage.of({"p", "ann"}, kNow + Usage::kHalfLife), 50);
  usage.charge({"p", "ann"}, 50, kNow + Usage::kHalfLife);
  EXPECT_DOUBLE_EQ(usage.of({"p", "ann"}, kNow + Usage::kHalfLife), 100);
}

TEST(usage, a_project_has_used_what_its_users_have) {
  Usage usage;
  usage.charge({"p", "ann"}, 1, kNow);
  usage.charge({"p", "bob"}, 2, kNow);
  usage.charge({"q", "ann"}, 4, kNow);
  EXPECT_DOUBLE_EQ(usage.of_project("p", kNow), 3);
  EXPECT_DOUBLE_EQ(usage.of_project("r", kNow), 0);
}

TEST(usage, a_clock_that_jumped_back_makes_nobody_poorer) {
  Usage usage;
  usage.charge({"p", "ann"}, 100, kNow);
  EXPECT_DOUBLE_EQ(usage.of({"p", "ann"}, kNow - Usage::kHalfLife), 100);
}

TEST(usage, what_is_stored_can_be_restored) {
  Usage usage;
  usage.charge({"p", "ann"}, 100, kNow);
  Usage other;
  for (const UsageRecord& record : usage.records()) other.restore(record);
  EXPECT_EQ(other.records(), usage.records());
  EXPECT_EQ(other.record({"p", "nobody"}).cpu_seconds, 0);
}

// ---- fair order
// ----------------------------------------------------------------------------------

// The jobs in the order in which they would be granted one task each, on a cluster without end.
std::vector<JobId> order_of(World& world) {
  const Snapshot snapshot = snapshot_of(world.ledger, world.now);
  FairOrder order(snapshot);
  std::vector<JobId> jobs;
  std::vector<std::size_t> head(snapshot.groups.size());
  while (const auto next = order.next()) {
    jobs.push_back(snapshot.groups[*next].heads[head[*next]++].job);
    order.granted(*next);
  }
  return jobs;
}

TEST(fair_order, the_oldest_job_of_a_user_comes_first) {
  World world({node("a", 1)});
  const JobId first = world.submit(spec(cpus(2)));
  const JobId second = world.submit(spec(cpus(1)));
  EXPECT_THAT(order_of(world), ElementsAre(first, second));
}

TEST(fair_order, priority_comes_before_age_and_use) {
  World world({node("a", 1)});
  const JobId low = world.submit(spec(cpus(1)));
  JobSpec urgent = spec(cpus(1));
  urgent.priority = 1;
  const JobId high = world.submit(urgent);
  EXPECT_THAT(order_of(world), ElementsAre(high, low));
}

TEST(fair_order, an_hour_of_waiting_is_worth_one_priority) {
  World world({node("a", 1)});
  const JobId patient = world.submit(spec(cpus(1)));
  JobSpec urgent = spec(cpus(1));
  urgent.priority = 1;
  world.wait(seconds(3599));
  const JobId high = world.submit(urgent);
  EXPECT_THAT(order_of(world), ElementsAre(high, patient));
  world.wait(seconds(1));
  EXPECT_THAT(order_of(world), ElementsAre(patient, high));
}

TEST(fair_order, users_take_turns) {
  World world({node("a", 1)});
  const JobId a1 = world.submit(of("ann"));
  const JobId a2 = world.submit(of("ann"));
  const JobId b1 = world.submit(of("bob"));
  const JobId b2 = world.submit(of("bob"));
  EXPECT_THAT(order_of(world), ElementsAre(a1, b1, a2, b2));
}

TEST(fair_order, projects_take_turns_whatever_the_number_of_their_users) {
  World world({node("a", 1)});
  const JobId p1 = world.submit(of("ann", "p"));
  const JobId p2 = world.submit(of("bob", "p"));
  const JobId p3 = world.submit(of("cid", "p"));
  const JobId q1 = world.submit(of("dan", "q"));
  const JobId q2 = world.submit(of("dan", "q"));
  EXPECT_THAT(order_of(world), ElementsAre(p1, q1, p2, q2, p3));
}

TEST(fair_order, who_has_used_less_comes_first) {
  World world({node("a", 1)});
  world.ledger.restore_usage({{"default", "ann"}, 1000, kNow});
  const JobId ann = world.submit(of("ann"));
  const JobId bob = world.submit(of("bob"));
  EXPECT_THAT(order_of(world), ElementsAre(bob, ann));
}

TEST(fair_order, what_runs_counts_as_use) {
  World world({node("a", 1)});
  world.submit(of("ann"));
  world.run();
  const JobId ann = world.submit(of("ann"));
  const JobId bob = world.submit(of("bob"));
  EXPECT_THAT(order_of(world), ElementsAre(bob, ann));
}

TEST(fair_order, a_removed_group_does_not_come_again) {
  World world({node("a", 1)});
  world.submit(spec(cpus(1)));
  world.submit(spec(cpus(2)));
  const Snapshot snapshot = snapshot_of(world.ledger, world.now);
  FairOrder order(snapshot);
  order.remove(*order.next());
  order.remove(*order.next());
  EXPECT_EQ(order.next(), std::nullopt);
}

// ---- placement
// -----------------------------------------------------------------------------------

std::string placed_on(const std::vector<Node>& nodes, const Request& request) {
  World world(nodes);
  const Workspace workspace(world.ledger.nodes());
  const auto found = workspace.find(request, std::nullopt, {});
  return found ? world.ledger.find_node(*found)->name : "";
}

TEST(workspace, the_tightest_node_that_fits_is_taken) {
  EXPECT_EQ(placed_on({node("a", 8), node("b", 4), node("c", 2)}, cpus(3)), "b");
  EXPECT_EQ(placed_on({node("a", 8), node("b", 4), node("c", 2)}, cpus(9)), "");
}

TEST(workspace, ties_go_to_the_first_node) {
  EXPECT_EQ(placed_on({node("a", 4), node("b", 4)}, cpus(1)), "a");
}

TEST(workspace, nodes_with_gpus_are_kept_for_those_who_want_them) {
  EXPECT_EQ(placed_on({with_gpus(node("a", 4), 1), node("b", 16)}, cpus(1)), "b");
  EXPECT_EQ(placed_on({with_gpus(node("a", 16), 8), with_gpus(node("b", 16), 2)}, gpus(2)), "b");
}

TEST(workspace, memory_labels_and_state_are_respected) {
  Node labelled = node("b", 8);
  labelled.labels = {"ssd"};
  Request request = cpus(1);
  request.labels = {"ssd"};
  EXPECT_EQ(placed_on({node("a", 4), labelled}, request), "b");
  EXPECT_EQ(placed_on({node("a", 4, 100), node("b", 8, 1000)}, cpus(1, 500)), "b");
  Node down = node("a", 4);
  down.state = Node::State::kDown;
  EXPECT_EQ(placed_on({down, node("b", 8)}, cpus(1)), "b");
}

TEST(workspace, what_is_taken_is_taken) {
  World world({node("a", 2), node("b", 2)});
  Workspace workspace(world.ledger.nodes());
  EXPECT_EQ(
      workspace.take(cpus(2), *workspace.find(cpus(2), std::nullopt, {}), std::nullopt, {}).node,
      NodeId(1));
  EXPECT_EQ(
      workspace.take(cpus(2), *workspace.find(cpus(2), std::nullopt, {}), std::nullopt, {}).node,
      NodeId(2));
  EXPECT_EQ(workspace.find(cpus(1), std::nullopt, {}), std::nullopt);
  EXPECT_EQ(world.ledger.find_node("a")->free_cpus, MilliCpu(2000));
}

// ---- backfill
// ------------------------------------------------------------------------------------

JobSpec limited(double count, std::int64_t limit) {
  JobSpec one = spec(cpus(count));
  one.time_limit = seconds(limit);
  return one;
}

TEST(backfill, the_head_gets_the_node_that_is_free_first) {
  World world({node("a", 4), node("b", 4)});
  world.submit(limited(4, 100));
  world.submit(limited(4, 50));
  world.run();
  world.submit(limited(4, 10));
  world.pass();
  ASSERT_TRUE(world.plan.reservation);
  EXPECT_EQ(world.plan.reservation->parts.front().node, NodeId(2));
  EXPECT_EQ(world.plan.reservation->at, world.now + seconds(50));
}

TEST(backfill, others_pass_only_if_they_end_before_or_fit_beside) {
  World world({node("a", 4)});
  world.submit(limited(2, 100));
  world.run();
  world.submit(limited(3, 10));
  const JobId too_long = world.submit(limited(2, 200));
  const JobId in_time = world.submit(limited(1, 100));
  const JobId beside = world.submit(spec(cpus(1)));
  EXPECT_THAT(world.pass(), ElementsAre(AttemptId{{in_time, 0}, 1}, AttemptId{{beside, 0}, 1}));
  EXPECT_EQ(world.state({too_long, 0}), TaskState::kQueued);
}

TEST(backfill, an_unknown_end_never_ends_before) {
  World world({node("a", 4)});
  world.submit(limited(2, 100));
  world.run();
  world.submit(limited(4, 10));
  world.submit(spec(cpus(1)));
  EXPECT_THAT(world.pass(), IsEmpty());
}

TEST(backfill, measured_times_are_as_good_as_limits) {
  World world({node("a", 4)});
  world.measured("quick", seconds(5));
  world.submit(limited(2, 100));
  world.run();
  world.submit(limited(4, 10));
  JobSpec quick = spec(cpus(1));
  quick.kind = "quick";
  world.submit(quick);
  EXPECT_EQ(world.pass().size(), 1u);
}

TEST(backfill, what_is_taken_beside_the_head_is_charged_to_it) {
  World world({node("a", 5)});
  world.submit(limited(3, 100));
  world.run();
  world.submit(limited(4, 10));
  for (int i = 0; i < 3; ++i) world.submit(spec(cpus(1)));
  EXPECT_EQ(world.pass().size(), 1u);
}

// ---- lookahead
// -----------------------------------------------------------------------------------

std::size_t staged(const Plan& plan) {
  return static_cast<std::size_t>(std::count_if(plan.starts.begin(), plan.starts.end(),
                                                [](const Start& start) { return start.staged; }));
}

// A node of two CPUs on which two tasks of a known short kind run.
class Busy : public World {
 public:
  explicit Busy(Duration mean, Node one = with_backlog(node("a", 2))) : World({one}) {
    measured("job", mean);
    submit(spec(cpus(1), mean, 2));
    run();
  }
};

TEST(lookahead, short_tasks_are_staged_until_there_is_enough_for_a_while) {
  Busy world(milliseconds(10));
  world.submit(spec(cpus(1), milliseconds(10), 1000));
  world.pass();
  EXPECT_GE(staged(world.plan), 2u);
  EXPECT_LE(staged(world.plan), 64u);
  world.pass();
  EXPECT_EQ(staged(world.plan), 0u);
}

TEST(lookahead, long_and_unknown_tasks_are_not_staged) {
  Busy slow(milliseconds(500));
  slow.submit(spec(cpus(1), milliseconds(500), 10));
  slow.pass();
  EXPECT_EQ(staged(slow.plan), 0u);
  Busy unknown(milliseconds(1));
  JobSpec other = spec(cpus(1), milliseconds(1), 10);
  other.kind = "never-seen";
  unknown.submit(other);
  unknown.pass();
  EXPECT_EQ(staged(unknown.plan), 0u);
}

TEST(lookahead, only_executors_that_keep_a_backlog_get_one) {
  Busy world(milliseconds(1), node("a", 2));
  world.submit(spec(cpus(1), milliseconds(1), 10));
  world.pass();
  EXPECT_EQ(staged(world.plan), 0u);
}

TEST(lookahead, an_urgent_job_takes_back_what_is_staged) {
  Busy world(milliseconds(5));
  world.submit(spec(cpus(1), milliseconds(5), 1000));
  world.pass();
  JobSpec urgent = spec(cpus(2));
  urgent.kind = "other";
  urgent.priority = 5;
  world.submit(urgent);
  world.pass();
  EXPECT_EQ(world.plan.recalls.size(), 1u);
  EXPECT_EQ(staged(world.plan), 0u);
}

TEST(lookahead, a_job_behind_short_work_takes_nothing_back) {
  Busy world(milliseconds(5));
  world.submit(spec(cpus(1), milliseconds(5), 1000));
  world.pass();
  JobSpec behind = spec(cpus(2));
  behind.kind = "other";
  world.submit(behind);
  world.pass();
  EXPECT_THAT(world.plan.recalls, IsEmpty());
}

TEST(lookahead, a_backlog_behind_tasks_that_turn_out_long_is_taken_back) {
  Busy world(milliseconds(5));
  world.submit(spec(cpus(1), milliseconds(5), 1000));
  world.pass();
  ASSERT_GT(staged(world.plan), 0u);
  // The very pass that stages asks to be woken: nothing else may happen meanwhile.
  ASSERT_GT(world.plan.wake_at, kNow);
  ASSERT_LE(world.plan.wake_at, kNow + seconds(1));
  world.wait(world.plan.wake_at - kNow);
  world.pass();
  EXPECT_EQ(world.plan.recalls.size(), 1u);
  EXPECT_EQ(staged(world.plan), 0u);
}

}  // namespace
}  // namespace tutti
