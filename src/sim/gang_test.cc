// Gangs on the simulated cluster: together or not at all, and what the failure of one rank means.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "sim/simulation.h"
#include "sim/timeline.h"
#include "tests/support/ledger_checks.h"
#include "tests/support/random_life.h"
#include "tests/support/world.h"

namespace tutti {
namespace {

using testing_support::broken_invariant;
using testing_support::cpus;
using testing_support::gpus;
using testing_support::lives;
using testing_support::node;
using testing_support::spec;
using testing_support::with_gpus;
using Rule = FailureRule::Kind;

constexpr Duration kLong = seconds(100'000);

WorkerGroup workers(std::uint32_t count, Request request, FailureRule failure = {}) {
  WorkerGroup group;
  group.ranks.count = count;
  group.ranks.request = std::move(request);
  group.ranks.failure = failure;
  return group;
}

JobSpec gang(std::vector<WorkerGroup> groups, Duration runs = seconds(10)) {
  JobSpec made = spec(groups.front().ranks.request, runs);
  made.tasks = {.shape = TaskSet::Shape::kGang, .count = 0};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].name = "group" + std::to_string(i);
    made.tasks.count += groups[i].ranks.count;
  }
  made.gang.workers = std::move(groups);
  return made;
}

Command command(Duration runs, int exit_code = 0, std::uint32_t fails = 0) {
  SimCommand made{.runs = runs};
  made.exit_code = exit_code;
  made.fails = fails;
  return {.argv = made.argv(), .shell = {}, .script = {}};
}

class GangTest : public ::testing::Test {
 protected:
  JobId submit(JobSpec one) {
    const Result<JobId> job = world.submit(std::move(one));
    EXPECT_TRUE(job.has_value()) << (job ? "" : job.error().message);
    world.advance(seconds(0));
    return job ? *job : JobId();
  }
  TaskState rank(JobId job, std::uint32_t index) {
    const Job* live = world.ledger().find_job(job);
    return live == nullptr ? TaskState::kSkipped : live->state_of(index);
  }
  std::uint32_t active(JobId job) {
    const Job* live = world.ledger().find_job(job);
    return live == nullptr ? 0 : live->counts.active();
  }
  // Runs a gang to its end, which is expected to be `state`, and tells how its ranks ended.
  std::vector<TaskRow> run_on_four_gpus(std::vector<WorkerGroup> groups, TaskState state) {
    world.add_node(with_gpus(node("a", 4), 4));
    const JobId job = submit(gang(std::move(groups)));
    EXPECT_TRUE(world.run_until_idle(seconds(1000)));
    EXPECT_EQ(world.state_of(job), state);
    auto ranks = world.store().load_tasks(job);
    return ranks ? *std::move(ranks) : std::vector<TaskRow>();
  }
  void TearDown() override {
    EXPECT_EQ(broken_invariant(world.ledger()), "");
    EXPECT_THAT(world.executor().complaints(), testing::IsEmpty());
  }

  Simulation world;
};

TEST_F(GangTest, all_ranks_start_together) {
  world.add_node(node("a", 4));
  const JobId job = submit(gang({workers(4, cpus(1))}));
  world.advance(seconds(1));
  EXPECT_EQ(active(job), 4u);
  ASSERT_TRUE(world.run_until_idle(seconds(100)));
  EXPECT_EQ(world.state_of(job), TaskState::kSucceeded);
}

TEST_F(GangTest, none_starts_while_one_would_not_fit) {
  world.add_node(node("a", 4));
  const JobId other = submit(spec(cpus(1), seconds(30)));
  const JobId job = submit(gang({workers(4, cpus(1))}));
  world.advance(seconds(5));
  EXPECT_EQ(active(job), 0u);
  const Result<Explanation> why = world.explain(job);
  ASSERT_TRUE(why.has_value());
  ASSERT_FALSE(why->reasons.empty());
  EXPECT_EQ(why->reasons.front().code, ReasonCode::kRanks);
  EXPECT_EQ(text_of(why->reasons.front(), world.now()),
            "4 ranks start together, and there is room for 3");
  ASSERT_TRUE(world.run_until_idle(seconds(100)));
  EXPECT_EQ(world.state_of(other), TaskState::kSucceeded);
  EXPECT_EQ(world.state_of(job), TaskState::kSucceeded);
}

TEST_F(GangTest, two_gangs_never_hold_half_each) {
  world.add_node(node("a", 2));
  world.add_node(node("b", 2));
  const JobId first = submit(gang({workers(3, cpus(1))}));
  const JobId second = submit(gang({workers(3, cpus(1))}));
  world.advance(seconds(1));
  EXPECT_EQ(active(first), 3u);
  EXPECT_EQ(active(second), 0u);
  ASSERT_TRUE(world.run_until_idle(seconds(100)));
  EXPECT_EQ(world.state_of(second), TaskState::kSucceeded);
}

TEST_F(GangTest, small_work_does_not_starve_a_gang) {
  world.add_node(node("a", 4));
  for (int i = 0; i < 4; ++i) submit(spec(cpus(1), seconds(10 + i)));
  const JobId job = submit(gang({workers(4, cpus(1))}, seconds(5)));
  for (int i = 0; i < 40; ++i) {
    submit(spec(cpus(1), seconds(10)));
    world.advance(seconds(1));
  }
  EXPECT_EQ(world.state_of(job), TaskState::kSucceeded);
}

TEST_F(GangTest, one_node_is_preferred_then_few_with_one_type_of_device) {
  world.add_node(with_gpus(node("small", 8), 2, 40960, "V100"));
  world.add_node(with_gpus(node("a1", 8), 4, 40960, "A100"));
  world.add_node(with_gpus(node("a2", 8), 4, 40960, "A100"));
  Request one = gpus(1);
  one.devices.sharing = Sharing::kNever;
  const JobId fits_one = submit(gang({workers(4, one)}, seconds(5)));
  world.advance(seconds(1));
  std::set<NodeId> nodes;
  for (std::uint32_t i = 0; i < 4; ++i)
    nodes.insert(world.ledger().find_active({fits_one, i})->allocation.node);
  EXPECT_EQ(nodes.size(), 1u);
  ASSERT_TRUE(world.run_until_idle(seconds(100)));

  const JobId needs_two = submit(gang({workers(6, one)}, seconds(5)));
  world.advance(seconds(1));
  nodes.clear();
  for (std::uint32_t i = 0; i < 6; ++i)
    nodes.insert(world.ledger().find_active({needs_two, i})->allocation.node);
  EXPECT_EQ(nodes, (std::set<NodeId>{NodeId(2), NodeId(3)}));
}

TEST_F(GangTest, a_failing_rank_ends_the_others_and_gives_its_code) {
  world.add_node(node("a", 4));
  WorkerGroup bad = workers(1, cpus(1));
  bad.command = command(seconds(2), 7);
  const JobId job = submit(gang({workers(2, cpus(1)), bad}, kLong));
  world.advance(seconds(1));
  EXPECT_EQ(active(job), 3u);
  ASSERT_TRUE(world.run_until_idle(seconds(100)));
  EXPECT_EQ(world.state_of(job), TaskState::kFailed);
  const Result<JobRow> row = world.store().load_job(job);
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->exit_status, 7);
  EXPECT_EQ(row->counts[TaskState::kCancelled], 2u);
  const auto tasks = world.store().load_tasks(job);
  ASSERT_TRUE(tasks.has_value());
  EXPECT_EQ((*tasks)[0].outcome.ending, Ending::kRankFailed);
  EXPECT_EQ((*tasks)[0].outcome.message, "ended because rank 2 on a failed");
}

TEST_F(GangTest, the_rank_that_ends_the_others_is_named_and_no_other_that_failed) {
  world.add_node(node("a", 4));
  WorkerGroup harmless = workers(1, cpus(1), {Rule::kContinue, 0});
  harmless.command = command(seconds(1), 4);
  WorkerGroup bad = workers(1, cpus(1));
  bad.command = command(seconds(3), 9);
  const JobId job = submit(gang({harmless, workers(2, cpus(1)), bad}, kLong));
  ASSERT_TRUE(world.run_until_idle(seconds(100)));
  const auto tasks = world.store().load_tasks(job);
  ASSERT_TRUE(tasks.has_value());
  EXPECT_EQ((*tasks)[1].outcome.message, "ended because rank 3 on a failed");
  EXPECT_EQ((*tasks)[2].outcome.message, "ended because rank 3 on a failed");
}

// Ranks with a GPU each, of which one uses more than it asks for.
std::vector<WorkerGroup> greedy(std::int64_t uses_mib, FailureRule failure = {}) {
  WorkerGroup one = workers(1, gpus(1, 0, 10240), failure);
  SimCommand uses{.runs = seconds(5)};
  uses.gpu_uses = MiB(uses_mib);
  one.command = {.argv = uses.argv(), .shell = {}, .script = {}};
  return {workers(2, gpus(1, 0, 10240)), one};
}

TEST_F(GangTest, after_too_little_device_memory_all_ranks_run_again_with_more) {
  const std::vector<TaskRow> ranks = run_on_four_gpus(greedy(20000), TaskState::kSucceeded);
  ASSERT_EQ(ranks.size(), 3u);
  EXPECT_EQ(ranks[2].oom_retries, 1u);
  EXPECT_EQ(ranks[2].retries_used, 0u);
  for (const TaskRow& one : ranks) EXPECT_EQ(one.attempts, 2u);
}

TEST_F(GangTest, a_rank_that_restarts_alone_gets_more_device_memory_alone) {
  const std::vector<TaskRow> ranks =
      run_on_four_gpus(greedy(15000, {Rule::kRestart, 1}), TaskState::kSucceeded);
  ASSERT_EQ(ranks.size(), 3u);
  EXPECT_EQ(ranks[0].attempts, 1u);
  EXPECT_EQ(ranks[2].attempts, 2u);
  EXPECT_EQ(ranks[2].oom_retries, 1u);
}

TEST_F(GangTest, a_gang_that_no_device_is_large_enough_for_fails) {
  const std::vector<TaskRow> ranks = run_on_four_gpus(greedy(50000), TaskState::kFailed);
  ASSERT_EQ(ranks.size(), 3u);
  EXPECT_EQ(ranks[2].outcome.ending, Ending::kDeviceOutOfMemory);
  EXPECT_LE(ranks[2].attempts, 4u);
}

TEST_F(GangTest, with_retries_all_ranks_run_again) {
  world.add_node(node("a", 4));
  WorkerGroup bad = workers(1, cpus(1));
  bad.command = command(seconds(5), 7, 1);
  WorkerGroup quick = workers(1, cpus(1));
  quick.command = command(seconds(1));
  JobSpec one = gang({quick, workers(1, cpus(1)), bad}, seconds(8));
  one.retry = {1, seconds(1)};
  const JobId job = submit(std::move(one));
  ASSERT_TRUE(world.run_until_idle(seconds(100)));
  EXPECT_EQ(world.state_of(job), TaskState::kSucceeded);
  const auto tasks = world.store().load_tasks(job);
  for (const TaskRow& task : *tasks) EXPECT_EQ(task.attempts, 2u) << task.task.index;
}

TEST_F(GangTest, with_continue_the_others_go_on) {
  world.add_node(node("a", 4));
  WorkerGroup bad = workers(1, cpus(1), {Rule::kContinue, 0});
  bad.command = command(seconds(2), 3);
  const JobId job = submit(gang({bad, workers(2, cpus(1), {Rule::kContinue, 0})}));
  world.advance(seconds(5));
  EXPECT_EQ(active(job), 2u);
  ASSERT_TRUE(world.run_until_idle(seconds(100)));
  EXPECT_EQ(world.state_of(job), TaskState::kFailed);
  EXPECT_EQ(world.store().load_job(job)->counts[TaskState::kSucceeded], 2u);
  EXPECT_EQ(world.store().load_job(job)->exit_status, 3);
}

TEST_F(GangTest, with_restart_the_rank_alone_runs_again) {
  world.add_node(node("a", 4));
  WorkerGroup bad = workers(1, cpus(1), {Rule::kRestart, 2});
  bad.command = command(seconds(2), 3, 2);
  const JobId job = submit(gang({workers(2, cpus(1)), bad}, seconds(60)));
  ASSERT_TRUE(world.run_until_idle(seconds(200)));
  EXPECT_EQ(world.state_of(job), TaskState::kSucceeded);
  const auto tasks = world.store().load_tasks(job);
  EXPECT_EQ((*tasks)[0].attempts, 1u);
  EXPECT_EQ((*tasks)[2].attempts, 3u);
}

TEST_F(GangTest, a_rank_that_restarts_alone_gets_its_node_and_ports_back) {
  world.add_node(node("a", 4));
  world.add_node(node("b", 2));
  Request one = cpus(2);
  one.ports = 2;
  WorkerGroup bad = workers(1, one, {Rule::kRestart, 2});
  bad.command = command(seconds(5), 3, 2);
  JobSpec shaky = gang({bad, workers(2, one)}, seconds(100));
  shaky.retry.backoff = seconds(10);
  const JobId job = submit(std::move(shaky));
  world.advance(seconds(1));
  const auto before = world.store().load_tasks(job);
  world.advance(seconds(6));
  EXPECT_EQ(active(job), 2u);
  world.restart_controller();
  ASSERT_TRUE(world.run_until_idle(seconds(200)));
  const auto after = world.store().load_tasks(job);
  ASSERT_TRUE(before.has_value() && after.has_value());
  EXPECT_EQ((*after)[0].attempts, 3u);
  EXPECT_EQ((*after)[0].node, (*before)[0].node);
  EXPECT_EQ((*after)[0].ports, (*before)[0].ports);
}

TEST_F(GangTest, a_rank_that_may_restart_comes_before_older_work_that_waits) {
  world.add_node(node("a", 3));
  const JobId older = submit(gang({workers(3, cpus(1))}, seconds(5)));
  WorkerGroup bad = workers(1, cpus(1), {Rule::kRestart, 1});
  bad.command = command(seconds(2), 3, 1);
  world.advance(seconds(1));
  const JobId job = submit(gang({workers(2, cpus(1)), bad}, seconds(20)));
  const JobId waiting = submit(gang({workers(3, cpus(1))}, seconds(5)));
  ASSERT_TRUE(world.run_until_idle(seconds(200)));
  for (const JobId one : {older, job, waiting})
    EXPECT_EQ(world.state_of(one), TaskState::kSucceeded);
}

TEST_F(GangTest, too_many_restarts_end_all) {
  world.add_node(node("a", 4));
  WorkerGroup bad = workers(1, cpus(1), {Rule::kRestart, 1});
  bad.command = command(seconds(2), 3);
  const JobId job = submit(gang({workers(2, cpus(1)), bad}, kLong));
  ASSERT_TRUE(world.run_until_idle(seconds(200)));
  EXPECT_EQ(world.state_of(job), TaskState::kFailed);
}

TEST(GangRuleTest, enough_successes_are_a_success) {
  Simulation world([](const StartAttempt& order) {
    SimRun run{.runs = seconds(2), .outcome = {}, .ignores_stop = false};
    run.outcome.exit_code = order.attempt.task.index == 1 ? 9 : 0;
    return run;
  });
  world.add_node(node("a", 4));
  world.advance(seconds(1));
  const Result<JobId> job = world.submit(gang({workers(3, cpus(1), {Rule::kMinSucceeded, 2})}));
  ASSERT_TRUE(job.has_value()) << job.error().message;
  ASSERT_TRUE(world.run_until_idle(seconds(100)));
  EXPECT_EQ(world.state_of(*job), TaskState::kSucceeded);
  EXPECT_EQ(world.store().load_job(*job)->exit_status, 0);
  EXPECT_EQ(world.store().load_job(*job)->counts[TaskState::kFailed], 1u);

  const Result<JobId> more = world.submit(gang({workers(3, cpus(1), {Rule::kMinSucceeded, 3})}));
  ASSERT_TRUE(more.has_value());
  ASSERT_TRUE(world.run_until_idle(seconds(100)));
  EXPECT_EQ(world.state_of(*more), TaskState::kFailed);
}

TEST_F(GangTest, waves_run_as_many_at_once_as_they_may) {
  world.add_node(node("a", 8));
  JobSpec one = gang({workers(6, cpus(1))}, seconds(5));
  one.gang.workers[0].ranks.parallel = 2;
  const JobId job = submit(std::move(one));
  world.advance(seconds(1));
  EXPECT_EQ(active(job), 2u);
  world.advance(seconds(5));
  EXPECT_EQ(active(job), 2u);
  ASSERT_TRUE(world.run_until_idle(seconds(100)));
  EXPECT_EQ(world.state_of(job), TaskState::kSucceeded);
}

TEST_F(GangTest, a_dry_run_of_waves_plans_the_first) {
  world.add_node(node("a", 4));
  JobSpec one = gang({workers(3, cpus(1)), workers(5, cpus(1))});
  for (WorkerGroup& group : one.gang.workers) group.ranks.parallel = 2;
  const Result<Submitted> dry = world.submit({std::move(one)}, true);
  ASSERT_TRUE(dry.has_value()) << dry.error().message;
  std::vector<std::uint32_t> ranks;
  for (const RankPlan& plan : dry->plans.at(0)) ranks.push_back(plan.rank);
  EXPECT_THAT(ranks, testing::ElementsAre(0, 1, 3, 4));
}

TEST_F(GangTest, ports_are_granted_once_on_a_node_and_given_back) {
  world.add_node(node("a", 4));
  Request one = cpus(1);
  one.ports = 2;
  submit(gang({workers(2, one)}));
  submit(gang({workers(2, one)}));
  world.advance(seconds(1));
  EXPECT_EQ(world.ledger().nodes()[0].ports.size(), 8u);
  ASSERT_TRUE(world.run_until_idle(seconds(100)));
  EXPECT_TRUE(world.ledger().nodes()[0].ports.empty());
}

TEST_F(GangTest, a_dry_run_tells_what_is_set_for_the_job_unless_it_is_replaced) {
  world.add_node(node("a", 4));
  JobSpec one = gang({workers(1, cpus(1))});
  one.remote_env = {"OF_JOB=1", "OF_BOTH=job"};
  one.gang.workers[0].env = {"OF_BOTH=group"};
  const Result<Submitted> dry = world.submit({std::move(one)}, true);
  ASSERT_TRUE(dry.has_value()) << dry.error().message;
  const std::vector<std::string>& env = dry->plans.at(0).at(0).env;
  EXPECT_THAT(env, testing::IsSupersetOf({"OF_JOB=1", "OF_BOTH=group"}));
  EXPECT_THAT(env, testing::Not(testing::Contains("OF_BOTH=job")));
}

TEST_F(GangTest, what_can_never_run_together_is_refused) {
  world.add_node(node("a", 4));
  const Result<JobId> job = world.submit(gang({workers(5, cpus(1))}));
  ASSERT_FALSE(job.has_value());
  EXPECT_THAT(job.error().message,
              testing::HasSubstr("its 5 workers start together, but all nodes at once have room "
                                 "for 4 of them only"));
}

TEST_F(GangTest, cancelling_a_rank_ends_the_gang) {
  world.add_node(node("a", 4));
  const JobId job = submit(gang({workers(3, cpus(1))}, kLong));
  world.advance(seconds(1));
  ASSERT_TRUE(world.cancel(job, {1}).has_value());
  ASSERT_TRUE(world.run_until_idle(seconds(100)));
  EXPECT_EQ(world.state_of(job), TaskState::kCancelled);
}

TEST_F(GangTest, what_is_cancelled_while_it_starts_again_stays_so) {
  world.add_node(node("a", 4));
  WorkerGroup bad = workers(1, cpus(1));
  bad.command = command(seconds(2), 7, 1);
  WorkerGroup slow = workers(2, cpus(1), {Rule::kContinue, 0});
  SimCommand deaf{.runs = kLong};
  deaf.ignores_stop = true;
  slow.command.argv = deaf.argv();
  JobSpec one = gang({bad, slow});
  one.retry = {1, seconds(1)};
  one.grace = seconds(10);
  const JobId job = submit(std::move(one));
  world.advance(seconds(5));
  EXPECT_EQ(active(job), 2u);
  ASSERT_TRUE(world.cancel(job).has_value());
  ASSERT_TRUE(world.run_until_idle(seconds(100)));
  EXPECT_EQ(world.state_of(job), TaskState::kCancelled);
}

TEST_F(GangTest, the_daemon_may_die_between_placing_and_starting) {
  world.executor().set_report_delay(milliseconds(50));
  world.add_node(node("a", 4));
  world.advance(seconds(1));
  const JobId job = submit(gang({workers(4, cpus(1))}));
  world.advance(milliseconds(10));
  EXPECT_EQ(world.executor().starts(), 0u);
  world.restart_controller();
  ASSERT_TRUE(world.run_until_idle(seconds(100)));
  EXPECT_EQ(world.state_of(job), TaskState::kSucceeded);
  EXPECT_EQ(world.executor().starts(), 4u);
}

// Twenty gangs of 1 to 16 ranks over four nodes, with failures and restarts of the controller.
class RandomGangs {
 public:
  explicit RandomGangs(std::uint32_t seed) : random_(seed) {
    world.executor().set_report_delay(milliseconds(pick(0, 3) * 10));
    for (int i = 0; i < 4; ++i) world.add_node(node("n" + std::to_string(i), pick(4, 8)));
    world.advance(seconds(1));
  }

  void submit() {
    JobSpec one =
        gang({workers(static_cast<std::uint32_t>(pick(1, 16)), cpus(1))}, seconds(pick(1, 60)));
    RankGroup& ranks = one.gang.workers[0].ranks;
    ranks.request.ports = static_cast<std::uint32_t>(pick(0, 2));
    ranks.failure.kind = static_cast<Rule>(pick(0, 3));
    const bool counts =
        ranks.failure.kind == Rule::kRestart || ranks.failure.kind == Rule::kMinSucceeded;
    ranks.failure.number = counts ? 1 : 0;
    if (pick(0, 3) == 0) one.command = command(seconds(pick(1, 30)), 1, 1);
    if (pick(0, 2) == 0) one.retry = {1, milliseconds(pick(0, 3000))};
    if (const Result<JobId> job = world.submit(std::move(one))) jobs.push_back(*job);
  }

  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }

  Simulation world;
  std::vector<JobId> jobs;

 private:
  std::mt19937 random_;
};

TEST(RandomGangsTest, no_deadlock_no_partial_start_no_over_allocation) {
  std::size_t submitted = 0;
  const std::uint32_t seeds = lives(1000);
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    RandomGangs life(seed);
    for (int i = 0; i < 20; ++i) {
      life.submit();
      life.world.advance(milliseconds(life.pick(0, 20'000)));
      if (life.pick(0, 9) == 0) life.world.restart_controller();
      ASSERT_EQ(broken_invariant(life.world.ledger()), "") << "seed " << seed;
    }
    ASSERT_TRUE(life.world.run_until_idle(seconds(86'400))) << "seed " << seed;
    for (const JobId job : life.jobs)
      ASSERT_TRUE(is_final(life.world.state_of(job))) << "seed " << seed << " job " << job.value;
    ASSERT_THAT(life.world.executor().complaints(), testing::IsEmpty()) << "seed " << seed;
    submitted += life.jobs.size();
  }
  EXPECT_GT(submitted, seeds * 19u);
}

}  // namespace
}  // namespace tutti
