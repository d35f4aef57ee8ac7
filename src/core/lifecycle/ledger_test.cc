#include "core/lifecycle/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/ledger_checks.h"
#include "tests/support/world.h"

namespace tutti {
namespace {

using testing::ElementsAre;
using testing_support::broken_invariant;
using testing_support::cpus;
using testing_support::difference;
using testing_support::failed;
using testing_support::gpus;
using testing_support::node;
using testing_support::replayed;
using testing_support::spec;
using testing_support::with_backlog;
using testing_support::with_gpus;
using testing_support::World;

JobSpec retried(std::uint32_t times) {
  JobSpec one = spec(cpus(1));
  one.retry = {.max = times, .backoff = seconds(10)};
  return one;
}

JobSpec after(JobId job, Dependency::When when) {
  JobSpec one = spec(cpus(1));
  one.after = {{job, when}};
  return one;
}

TEST(ledger, an_attempt_holds_its_allocation_until_it_has_ended) {
  World world({node("a", 4)});
  const JobId job = world.submit(spec(cpus(3)));
  world.run();
  EXPECT_EQ(world.ledger.find_node("a")->free_cpus, MilliCpu(1000));
  world.end({job, 0});
  EXPECT_EQ(world.ledger.find_node("a")->free_cpus, MilliCpu(4000));
  EXPECT_EQ(world.state({job, 0}), TaskState::kSucceeded);
}

TEST(ledger, untouched_tasks_cost_nothing) {
  World world({node("a", 2)});
  const JobId job = world.submit(spec(cpus(1), seconds(1), 1'000'000));
  world.run();
  EXPECT_EQ(world.ledger.find_job(job)->slots.size(), 2u);
  EXPECT_EQ(world.ledger.totals()[TaskState::kQueued], 999'998u);
}

TEST(ledger, a_failed_task_waits_twice_as_long_after_each_failure) {
  World world({node("a", 1)});
  const JobId job = world.submit(retried(3));
  for (const std::int64_t wait : {10, 20, 40}) {
    world.run();
    world.end({job, 0}, failed());
    EXPECT_EQ(world.ledger.not_before({job, 0}), world.now + seconds(wait));
    EXPECT_EQ(world.ledger.next_due(), world.now + seconds(wait));
    world.wait(seconds(wait));
  }
  world.run();
  world.end({job, 0}, failed(9));
  EXPECT_EQ(world.state({job, 0}), TaskState::kFailed);
  EXPECT_EQ(world.ledger.find_job(job)->exit_status, 9);
}

Duration second_wait(Duration first) {
  World world({node("a", 1)});
  JobSpec one = retried(30);
  one.retry.backoff = first;
  const JobId job = world.submit(one);
  world.run();
  world.end({job, 0}, failed());
  world.wait(first);
  world.run();
  world.end({job, 0}, failed());
  return world.ledger.not_before({job, 0}) - world.now;
}

TEST(ledger, a_back_off_does_not_grow_beyond_ten_minutes) {
  EXPECT_EQ(second_wait(seconds(400)), seconds(600));
}

TEST(ledger, a_back_off_that_the_user_chose_longer_is_kept) {
  EXPECT_EQ(second_wait(seconds(3600)), seconds(3600));
}

TEST(ledger, a_retried_task_keeps_its_place_before_younger_ones) {
  World world({node("a", 1)});
  const JobId old = world.submit(retried(1));
  world.run();
  const JobId young = world.submit(spec(cpus(1)));
  world.end({old, 0}, failed());
  world.wait(seconds(10));
  EXPECT_THAT(world.pass(), ElementsAre(AttemptId{{old, 0}, 2}));
  EXPECT_EQ(world.state({young, 0}), TaskState::kQueued);
}

TEST(ledger, a_retried_task_of_an_array_keeps_its_index) {
  World world({node("a", 1)});
  JobSpec array = spec(cpus(1), seconds(1), 5);
  array.retry = {.max = 1, .backoff = seconds(1)};
  const JobId job = world.submit(array);
  world.run();
  world.end({job, 0}, failed());
  world.run();
  world.wait(seconds(2));
  world.end({job, 1});
  EXPECT_THAT(world.pass(), ElementsAre(AttemptId{{job, 0}, 2}));
}

TEST(ledger, a_recalled_attempt_was_none) {
  World world({node("a", 1)});
  const JobId job = world.submit(spec(cpus(1)));
  world.pass();
  world.end({job, 0}, {.ending = Ending::kRecalled});
  EXPECT_EQ(world.ledger.attempts_of({job, 0}), 0u);
  EXPECT_THAT(world.pass(), ElementsAre(AttemptId{{job, 0}, 1}));
}

TEST(ledger, a_preempted_attempt_does_not_use_up_retries) {
  World world({node("a", 1)});
  const JobId job = world.submit(spec(cpus(1)));
  world.run();
  world.end({job, 0}, {.ending = Ending::kPreempted});
  EXPECT_EQ(world.state({job, 0}), TaskState::kQueued);
  EXPECT_THAT(world.pass(), ElementsAre(AttemptId{{job, 0}, 2}));
}

TEST(ledger, only_the_newest_attempt_is_current) {
  World world({node("a", 1)});
  const JobId job = world.submit(retried(1));
  world.run();
  world.end({job, 0}, failed());
  world.wait(seconds(10));
  world.run();
  EXPECT_FALSE(world.ledger.is_current({{job, 0}, 1}));
  EXPECT_TRUE(world.ledger.is_current({{job, 0}, 2}));
}

TEST(ledger, dependencies_are_met_or_skip_what_waits) {
  World world({node("a", 1)});
  const JobId first = world.submit(spec(cpus(1)));
  const JobId on_success = world.submit(after(first, Dependency::When::kSuccess));
  const JobId on_failure = world.submit(after(first, Dependency::When::kFailure));
  const JobId on_any = world.submit(after(first, Dependency::When::kAny));
  const JobId grandchild = world.submit(after(on_success, Dependency::When::kSuccess));
  world.run();
  world.end({first, 0}, failed());
  EXPECT_EQ(world.state({on_success, 0}), TaskState::kSkipped);
  EXPECT_EQ(world.state({grandchild, 0}), TaskState::kSkipped);
  EXPECT_EQ(world.state({on_failure, 0}), TaskState::kQueued);
  EXPECT_TRUE(world.ledger.find_job(on_failure)->after.empty());
  EXPECT_TRUE(world.ledger.find_job(on_any)->after.empty());
}

// As after a daemon that was down: what ended is told long after it has.
void end_late(World& world, TaskId task, TimePoint ended_at) {
  const ActiveAttempt attempt = *world.ledger.find_active(task);
  world.happen(AttemptEnded{attempt.id, attempt.started_at, ended_at, {}, true});
}

TEST(ledger, a_job_finishes_when_its_last_task_ended_not_when_that_became_known) {
  World world({node("a", 2)});
  const JobId job = world.submit(spec(cpus(1), seconds(1), 2));
  world.run();
  const TimePoint start = world.now;
  world.wait(seconds(60));
  end_late(world, {job, 0}, start + seconds(3));
  end_late(world, {job, 1}, start + seconds(1));
  EXPECT_EQ(world.ledger.find_job(job)->finished_at, start + seconds(3));
}

TEST(ledger, a_job_never_finishes_before_it_was_submitted_or_after_the_present) {
  World world({node("a", 2)});
  const JobId early = world.submit(spec(cpus(1)));
  const JobId late = world.submit(spec(cpus(1)));
  world.run();
  end_late(world, {early, 0}, world.now - seconds(5));
  end_late(world, {late, 0}, world.now + seconds(5));
  EXPECT_EQ(world.ledger.find_job(early)->finished_at, world.now);
  EXPECT_EQ(world.ledger.find_job(late)->finished_at, world.now);
}

TEST(ledger, a_dependency_that_has_ended_skips_at_once) {
  World world({node("a", 1)});
  const JobId first = world.submit(spec(cpus(1)));
  world.run();
  world.end({first, 0}, failed());
  const JobId late = world.submit(after(first, Dependency::When::kSuccess));
  EXPECT_EQ(world.state({late, 0}), TaskState::kSkipped);
  EXPECT_TRUE(world.ledger.find_job(late)->finished_at);
}

TEST(ledger, a_job_waits_for_all_of_its_dependencies) {
  World world({node("a", 2)});
  const JobId a = world.submit(spec(cpus(1)));
  const JobId b = world.submit(spec(cpus(1)));
  JobSpec both = spec(cpus(1));
  both.after = {{a, Dependency::When::kSuccess}, {b, Dependency::When::kSuccess}};
  const JobId child = world.submit(both);
  world.run();
  world.end({a, 0});
  EXPECT_EQ(world.pass().size(), 0u);
  world.end({b, 0});
  EXPECT_THAT(world.pass(), ElementsAre(AttemptId{{child, 0}, 1}));
}

TEST(ledger, a_cancel_ends_what_waits_and_not_what_runs) {
  World world({node("a", 2)});
  const JobId job = world.submit(spec(cpus(1), seconds(1), 100));
  world.run();
  world.happen(CancelRequested{job, {}});
  EXPECT_EQ(world.ledger.find_job(job)->counts[TaskState::kCancelled], 98u);
  EXPECT_EQ(world.ledger.find_job(job)->counts[TaskState::kRunning], 2u);
  EXPECT_FALSE(world.ledger.find_job(job)->finished_at);
  EXPECT_EQ(broken_invariant(world.ledger), "");
}

TEST(ledger, a_task_that_fails_after_a_cancel_is_cancelled_and_one_that_succeeds_is_not) {
  World world({node("a", 2)});
  const JobId job = world.submit(spec(cpus(1), seconds(1), 2));
  world.run();
  for (const std::uint32_t task : {0u, 1u})
    world.happen(StopOrdered{world.ledger.find_active({job, task})->id, Ending::kCancelled});
  world.end({job, 0}, {.ending = Ending::kSignalled, .signal = 15});
  world.end({job, 1});
  EXPECT_EQ(world.state({job, 0}), TaskState::kCancelled);
  EXPECT_EQ(world.state({job, 1}), TaskState::kSucceeded);
  EXPECT_EQ(world.ledger.find_job(job)->exit_status, 130);
}

TEST(ledger, a_retry_queues_all_that_did_not_succeed) {
  World world({node("a", 4)});
  const JobId job = world.submit(spec(cpus(4), seconds(1), 10));
  world.run();
  world.end({job, 0});
  world.run();
  world.end({job, 1}, failed());
  world.happen(CancelRequested{job, {}});
  EXPECT_TRUE(world.ledger.find_job(job)->finished_at);
  world.happen(RetryRequested{job, {}});
  EXPECT_EQ(world.ledger.find_job(job)->counts[TaskState::kQueued], 9u);
  EXPECT_EQ(world.ledger.find_job(job)->counts[TaskState::kSucceeded], 1u);
  EXPECT_THAT(world.pass(), ElementsAre(AttemptId{{job, 1}, 2}));
  EXPECT_EQ(broken_invariant(world.ledger), "");
}

TEST(ledger, a_finished_job_that_is_retried_has_not_started_yet) {
  World world({node("a", 4)});
  const JobId job = world.submit(spec(cpus(1), seconds(1), 2));
  world.run();
  world.end({job, 0}, failed());
  world.happen(RetryRequested{job, {0}});
  EXPECT_EQ(world.ledger.find_job(job)->started_at, world.now);  // the other still runs
  world.end({job, 1});
  world.run();
  world.end({job, 0}, failed());
  ASSERT_TRUE(world.ledger.find_job(job)->finished_at);
  world.wait(seconds(86400));
  world.happen(RetryRequested{job, {0}});
  EXPECT_FALSE(world.ledger.row(*world.ledger.find_job(job)).started_at);
  world.run();
  EXPECT_EQ(world.ledger.row(*world.ledger.find_job(job)).started_at, world.now);
}

TEST(ledger, a_job_started_with_its_first_task_whichever_is_told_first) {
  World world({node("a", 4)});
  const JobId job = world.submit(spec(cpus(1), seconds(1), 3));
  world.pass();
  const TimePoint placed = world.now;
  world.wait(seconds(5));
  world.happen(AttemptStarted{{{job, 1}, 1}, placed + seconds(2), 1});
  world.happen(AttemptStarted{{{job, 0}, 1}, placed + seconds(1), 1});
  EXPECT_EQ(world.ledger.find_job(job)->started_at, placed + seconds(1));
  world.happen(AttemptEnded{{{job, 2}, 1}, placed, world.now, {}, true});
  EXPECT_EQ(world.ledger.find_job(job)->started_at, placed);
}

TEST(ledger, a_retry_of_one_task_leaves_the_job_the_status_of_those_that_failed) {
  World world({node("a", 4)});
  const JobId job = world.submit(spec(cpus(1), seconds(1), 3));
  world.run();
  for (const std::uint32_t task : {0u, 1u, 2u})
    world.end({job, task}, {.exit_code = static_cast<int>(task) + 3});
  ASSERT_EQ(world.ledger.find_job(job)->exit_status, 3);
  world.happen(RetryRequested{job, {0}});
  world.run();
  world.end({job, 0});
  EXPECT_EQ(world.ledger.find_job(job)->exit_status, 4);
}

TEST(ledger, a_finished_job_that_is_retried_waits_for_what_has_not_ended) {
  World world({node("a", 1)});
  const JobId fails = world.submit(spec(cpus(1)));
  const JobId never = world.submit(spec(cpus(1)));
  JobSpec both = spec(cpus(1));
  both.after = {{fails, Dependency::When::kSuccess}, {never, Dependency::When::kSuccess}};
  const JobId child = world.submit(both);
  world.run();
  world.end({fails, 0}, failed());
  ASSERT_EQ(world.state({child, 0}), TaskState::kSkipped);
  world.happen(RetryRequested{child, {}});
  EXPECT_EQ(world.ledger.find_job(child)->after,
            (std::vector<Dependency>{{never, Dependency::When::kSuccess}}));
}

TEST(ledger, the_array_limit_counts_what_is_active) {
  World world({node("a", 8)});
  JobSpec array = spec(cpus(1), seconds(1), 10);
  array.tasks.max_parallel = 2;
  const JobId job = world.submit(array);
  EXPECT_EQ(world.pass().size(), 2u);
  EXPECT_EQ(world.pass().size(), 0u);
  world.end({job, 0});
  EXPECT_THAT(world.pass(), ElementsAre(AttemptId{{job, 2}, 1}));
}

// ---- lanes
// ---------------------------------------------------------------------------------------

// One CPU, on which a short task runs and two are staged behind it.
class Staged : public World {
 public:
  Staged() : World({with_backlog(node("a", 1))}) {
    measured("job", milliseconds(10));
    job = submit(spec(cpus(1), milliseconds(10), 3));
    run();
    run();
  }
  const Lane& lane() const { return ledger.lanes().begin()->second; }
  bool staged(std::uint32_t task) const { return ledger.find_active({job, task})->staged; }
  JobId job;
};

TEST(lane, staged_attempts_hold_nothing) {
  const Staged world;
  EXPECT_EQ(world.lane().staged, 2u);
  EXPECT_EQ(world.lane().width, 1u);
  EXPECT_EQ(world.ledger.find_node("a")->free_cpus, MilliCpu(0));
}

TEST(lane, an_allocation_that_is_not_released_goes_to_the_first_of_the_backlog) {
  Staged world;
  world.end({world.job, 0}, {}, false);
  EXPECT_FALSE(world.staged(1));
  EXPECT_TRUE(world.staged(2));
  EXPECT_EQ(world.lane().width, 1u);
  EXPECT_EQ(broken_invariant(world.ledger), "");
}

TEST(lane, a_recalled_attempt_leaves_the_backlog) {
  Staged world;
  world.end({world.job, 1}, {.ending = Ending::kRecalled}, false);
  EXPECT_EQ(world.lane().staged, 1u);
  EXPECT_EQ(world.lane().width, 1u);
  EXPECT_EQ(broken_invariant(world.ledger), "");
}

TEST(lane, the_last_attempt_gives_everything_back) {
  Staged world;
  world.end({world.job, 0}, {}, false);
  world.end({world.job, 1}, {}, false);
  world.end({world.job, 2}, {.ending = Ending::kLost}, false);
  EXPECT_TRUE(world.ledger.lanes().empty());
  EXPECT_EQ(world.ledger.find_node("a")->free_cpus, MilliCpu(1000));
}

TEST(lane, a_new_allocation_goes_to_who_waits_first) {
  Staged world;
  world.happen(NodeChanged{[&] {
    Node larger = *world.ledger.find_node("a");
    larger.cpus = MilliCpu(2000);
    return larger;
  }()});
  const JobId young = world.submit(spec(cpus(1)));
  const Allocation allocation{NodeId(1), MilliCpu(1000), MiB(), {}};
  world.happen(AttemptPlaced{{{young, 0}, 1}, world.lane().id, false, allocation});
  EXPECT_FALSE(world.staged(1));
  EXPECT_TRUE(world.ledger.find_active({young, 0})->staged);
  EXPECT_EQ(world.lane().width, 2u);
  EXPECT_EQ(broken_invariant(world.ledger), "");
}

TEST(lane, attempts_with_devices_have_a_lane_of_their_own) {
  World world({with_gpus(node("a", 8), 2)});
  world.submit(spec(gpus(1, 500), seconds(1), 2));
  world.run();
  EXPECT_EQ(world.ledger.lanes().size(), 2u);
}

// ---- nodes
// ---------------------------------------------------------------------------------------

TEST(ledger, what_is_held_stays_held_when_a_node_shrinks) {
  World world({with_gpus(node("a", 4), 2)});
  const JobId job = world.submit(spec(gpus(2)));
  world.run();
  Node smaller = node("a", 1);
  smaller.id = NodeId(1);
  world.happen(NodeChanged{smaller});
  EXPECT_FALSE(could_ever_fit(*world.ledger.find_node("a"), gpus(1)));
  Node again = with_gpus(node("a", 4), 2);
  again.id = NodeId(1);
  world.happen(NodeChanged{again});
  EXPECT_FALSE(fits_now(*world.ledger.find_node("a"), gpus(1)));
  world.end({job, 0});
  EXPECT_TRUE(fits_now(*world.ledger.find_node("a"), gpus(2)));
}

// ---- use
// -----------------------------------------------------------------------------------------

TEST(ledger, use_and_profiles_are_measured_when_an_attempt_ends) {
  World world({node("a", 4)});
  const JobId job = world.submit(spec(cpus(2)));
  world.run();
  EXPECT_EQ(world.ledger.held({"default", "ann"}), MilliCpu(2000));
  world.wait(seconds(30));
  world.end({job, 0});
  EXPECT_EQ(world.ledger.held({"default", "ann"}), MilliCpu(0));
  EXPECT_DOUBLE_EQ(world.ledger.usage().of({"default", "ann"}, world.now), 60);
  EXPECT_EQ(world.ledger.profile("job")->recent_mean(), seconds(30));
}

TEST(ledger, what_was_killed_says_nothing_about_its_kind) {
  World world({node("a", 4)});
  const JobId job = world.submit(spec(cpus(2)));
  world.run();
  world.wait(seconds(30));
  world.end({job, 0}, {.ending = Ending::kTimeout});
  EXPECT_EQ(world.ledger.profile("job"), nullptr);
  EXPECT_GT(world.ledger.usage().of({"default", "ann"}, world.now), 0);
}

TEST(ledger, retired_jobs_leave_no_trace) {
  World world({node("a", 4)});
  const JobId job = world.submit(spec(cpus(2)));
  const JobId live = world.submit(spec(cpus(4)));
  world.run();
  world.end({job, 0});
  world.ledger.retire({job, live});
  EXPECT_EQ(world.ledger.find_job(job), nullptr);
  EXPECT_NE(world.ledger.find_job(live), nullptr);
  EXPECT_EQ(world.ledger.totals()[TaskState::kSucceeded], 0u);
  EXPECT_EQ(broken_invariant(world.ledger), "");
}

TEST(ledger, the_journal_gives_the_ledger_again) {
  Staged world;
  const JobId flaky = world.submit(retried(1));
  world.end({world.job, 0}, {}, false);
  world.start({{world.job, 1}, 1});
  world.end({world.job, 1}, {}, false);
  world.end({world.job, 2});
  world.ledger.retire({world.job});
  world.run();
  world.end({flaky, 0}, failed());
  EXPECT_EQ(difference(world.ledger, replayed(world.journal, world.now)), "");
  world.wait(seconds(10));
  EXPECT_EQ(difference(world.ledger, replayed(world.journal, world.now)), "");
}

TEST(ledger_death_test, an_impossible_event_is_a_bug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  World world({node("a", 4)});
  const JobId job = world.submit(spec(cpus(1)));
  EXPECT_DEATH(world.happen(AttemptEnded{{{job, 0}, 1}, {}, world.now, {}, true}), "bug at");
}

TEST(event, every_event_has_a_name) {
  EXPECT_STREQ(event_name(JobSubmitted{}), "job_submitted");
  EXPECT_STREQ(event_name(NodeStateChanged{}), "node_state_changed");
}

}  // namespace
}  // namespace tutti
