#include "control/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "sim/simulation.h"
#include "sim/timeline.h"
#include "tests/support/ledger_checks.h"
#include "tests/support/world.h"

namespace tutti {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::cpus;
using testing_support::difference;
using testing_support::node;
using testing_support::spec;

// A simulation with one node of four CPUs.
class ControllerTest : public testing::Test {
 protected:
  ControllerTest() { world.add_node(node("a", 4)); }

  JobId submit(JobSpec one) {
    const Result<JobId> job = world.submit(std::move(one));
    EXPECT_TRUE(job) << job.error().message;
    return job ? *job : JobId();
  }
  Timeline timeline() { return Timeline(world.store().journal()); }
  std::size_t attempts(JobId job) { return timeline().attempts_of(std::vector{job}); }

  Simulation world;
};

TEST_F(ControllerTest, a_job_runs_and_its_result_is_kept) {
  const JobId job = submit(spec(cpus(1)));
  EXPECT_EQ(world.state_of(job), TaskState::kRunning);
  EXPECT_TRUE(world.run_until_idle());
  EXPECT_EQ(world.state_of(job), TaskState::kSucceeded);
  EXPECT_EQ(world.elapsed(), seconds(10));
}

// ---- a round that cannot be written
// --------------------------------------------------------------

TEST_F(ControllerTest, the_reply_carries_the_error_of_a_failed_commit) {
  world.store().fail_next(1);
  const Result<JobId> job = world.submit(spec(cpus(1)));
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kExhausted);
  EXPECT_THAT(job.error().message, HasSubstr("disk is full"));
}

TEST_F(ControllerTest, nothing_is_ordered_by_a_round_that_was_not_written) {
  world.store().set_full(true);
  ASSERT_FALSE(world.submit(spec(cpus(1))));
  world.advance(seconds(5));
  EXPECT_EQ(world.executor().starts(), 0u);
  EXPECT_EQ(world.ledger().jobs().size(), 0u);
}

TEST_F(ControllerTest, all_goes_on_after_the_disk_has_room_again) {
  const JobId before = submit(spec(cpus(1)));
  world.store().set_full(true);
  world.advance(seconds(20));
  EXPECT_EQ(world.store().load_job(before)->state, TaskState::kRunning);
  world.store().set_full(false);
  world.advance(seconds(2));
  EXPECT_EQ(world.state_of(before), TaskState::kSucceeded);
  EXPECT_EQ(attempts(before), 1u);
  const JobId after = submit(spec(cpus(1)));
  EXPECT_TRUE(world.run_until_idle());
  EXPECT_EQ(world.state_of(after), TaskState::kSucceeded);
}

TEST_F(ControllerTest, a_job_that_takes_the_number_of_one_never_written_runs_its_own_command) {
  JobSpec lost = spec(cpus(1), seconds(1000));
  world.store().fail_next(1);
  ASSERT_FALSE(world.submit(lost));
  const JobId job = submit(spec(cpus(1), seconds(3)));
  EXPECT_EQ(job, JobId(1));
  EXPECT_TRUE(world.run_until_idle());
  EXPECT_EQ(world.elapsed(), seconds(3));
}

TEST_F(ControllerTest, a_cancel_that_was_not_written_did_not_happen) {
  const JobId job = submit(spec(cpus(1)));
  world.store().fail_next(1);
  EXPECT_FALSE(world.cancel(job));
  EXPECT_TRUE(world.run_until_idle());
  EXPECT_EQ(world.state_of(job), TaskState::kSucceeded);
}

TEST_F(ControllerTest, the_status_tells_of_trouble_until_a_round_is_written) {
  const auto trouble = [&] {
    std::string text;
    world.controller().status([&](Result<Status> status) { text = status->trouble; });
    world.controller().step();
    return text;
  };
  world.store().fail_next(1);
  (void)world.submit(spec(cpus(1)));
  EXPECT_THAT(trouble(), HasSubstr("disk is full"));
  submit(spec(cpus(1)));
  EXPECT_EQ(trouble(), "");
}

// ---- threads
// ---------------------------------------------------------------------------------------

TEST_F(ControllerTest, a_lease_is_given_by_the_thread_that_asks_while_no_round_is_under_way) {
  Controller& controller = world.controller();
  const auto answered_at_once = [&](JobSpec one, bool lease) {
    one.lease = lease;
    const auto answered = std::make_shared<bool>(false);
    controller.submit({one}, false, [answered](const Result<Submitted>& submitted) {
      EXPECT_TRUE(submitted) << submitted.error().message;
      *answered = true;
    });
    return *answered;
  };
  EXPECT_FALSE(answered_at_once(spec({}), true)) << "nobody has called run() yet";
  controller.stop();
  controller.run();
  EXPECT_TRUE(answered_at_once(spec({}), true));
  EXPECT_FALSE(answered_at_once(spec({}), false)) << "a job has to be on disk";
  EXPECT_FALSE(answered_at_once(spec({}), true)) << "the job comes first";
  controller.step();
  EXPECT_TRUE(answered_at_once(spec({}), true));
}

// ---- replies
// -------------------------------------------------------------------------------------

TEST_F(ControllerTest, a_reply_comes_only_after_the_commit) {
  std::uint64_t rounds_at_reply = 0;
  const std::uint64_t before = world.store().rounds();
  world.controller().submit({spec(cpus(1))}, false, [&](Result<Submitted> submitted) {
    EXPECT_TRUE(submitted);
    rounds_at_reply = world.store().rounds();
  });
  EXPECT_EQ(world.store().rounds(), before);
  world.controller().step();
  EXPECT_EQ(rounds_at_reply, before + 1);
}

// ---- submissions
// ---------------------------------------------------------------------------------

TEST_F(ControllerTest, a_submission_is_taken_as_a_whole_or_not_at_all) {
  JobSpec broken = spec(cpus(1));
  broken.request.cpus = MilliCpu(0);
  const Result<Submitted> submitted = world.submit({spec(cpus(1)), broken, spec(cpus(1))}, false);
  ASSERT_FALSE(submitted);
  EXPECT_THAT(submitted.error().message, HasSubstr("job 2 of 3: cpus"));
  EXPECT_THAT(world.ledger().jobs(), IsEmpty());
  EXPECT_EQ(submit(spec(cpus(1))), JobId(1));
}

TEST_F(ControllerTest, an_impossible_job_is_refused_with_the_size_of_the_largest_node) {
  const Result<JobId> job = world.submit(spec(cpus(5)));
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(job.error().message, HasSubstr("5 CPUs (the largest node has 4)"));
}

TEST_F(ControllerTest, a_dry_run_explains_and_leaves_the_ledger_as_it_was) {
  submit(spec(cpus(4)));
  const Ledger before = world.ledger();
  const std::size_t events = world.store().journal().size();
  const Result<Submitted> dry = world.submit({spec(cpus(2)), spec(cpus(1), seconds(1), 50)}, true);
  ASSERT_TRUE(dry);
  EXPECT_THAT(dry->jobs, IsEmpty());
  ASSERT_EQ(dry->explanations.size(), 2u);
  EXPECT_EQ(dry->explanations[0].reasons.at(0).code, ReasonCode::kCpus);
  EXPECT_EQ(difference(before, world.ledger()), "");
  EXPECT_EQ(world.store().journal().size(), events);
  EXPECT_EQ(submit(spec(cpus(1))), JobId(2));
}

TEST_F(ControllerTest, a_dependency_must_exist_and_skips_if_it_ended_otherwise) {
  JobSpec child = spec(cpus(1));
  child.after = {{JobId(7), Dependency::When::kSuccess}};
  EXPECT_EQ(world.submit(child).error().code, ErrorCode::kNotFound);

  JobSpec broken = spec(cpus(1));
  broken.command.argv = SimCommand{.exit_code = 1}.argv();
  const JobId failed = submit(broken);
  world.run_until_idle();
  child.after = {{failed, Dependency::When::kSuccess}};
  EXPECT_EQ(world.state_of(submit(child)), TaskState::kSkipped);
  child.after = {{failed, Dependency::When::kFailure}};
  EXPECT_EQ(world.state_of(submit(child)), TaskState::kRunning);
}

TEST_F(ControllerTest, a_cancelled_job_has_not_failed) {
  const JobId cancelled = submit(spec(cpus(1)));
  ASSERT_TRUE(world.cancel(cancelled));
  world.run_until_idle();
  JobSpec child = spec(cpus(1));
  child.after = {{cancelled, Dependency::When::kFailure}};
  EXPECT_EQ(world.state_of(submit(child)), TaskState::kSkipped);
}

// ---- cancel and retry
// ----------------------------------------------------------------------------

TEST_F(ControllerTest, tasks_that_do_not_exist_are_refused) {
  const JobId job = submit(spec(cpus(1), seconds(10), 3));
  EXPECT_EQ(world.cancel(job, {3}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(world.retry(job, {3}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(world.explain(job, 3).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(world.cancel(JobId(9)).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(world.retry(JobId(9)).error().code, ErrorCode::kNotFound);
  world.run_until_idle();
  EXPECT_EQ(world.retry(job, {3}).error().code, ErrorCode::kNotFound);
}

TEST_F(ControllerTest, only_the_named_tasks_are_cancelled) {
  const JobId job = submit(spec(cpus(4), seconds(10), 3));
  EXPECT_EQ(world.cancel(job, {1})->tasks, 1u);
  world.run_until_idle();
  const std::vector<TaskRow> rows = *world.store().load_tasks(job);
  EXPECT_EQ(rows.at(0).state, TaskState::kSucceeded);
  EXPECT_EQ(rows.at(1).state, TaskState::kCancelled);
  EXPECT_EQ(rows.at(2).state, TaskState::kSucceeded);
}

TEST_F(ControllerTest, cancelling_what_has_ended_is_a_conflict) {
  const JobId job = submit(spec(cpus(1)));
  world.run_until_idle();
  EXPECT_EQ(world.cancel(job).error().code, ErrorCode::kConflict);
}

TEST_F(ControllerTest, a_refusal_is_about_the_tasks_that_were_named) {
  JobSpec array = spec(cpus(1), seconds(10), 3);
  array.tasks = {.shape = TaskSet::Shape::kArray, .count = 3, .first = 1};
  const JobId job = submit(array);
  world.controller().report({AttemptEnded{{{job, 1}, 1}, world.now(), world.now(), {}, true}});
  world.advance(seconds(1));
  const auto refused = [](const Result<Changed>& result) { return result.error().message; };
  EXPECT_EQ(refused(world.retry(job, {1})), "task 1.2 has nothing to retry: it succeeded");
  EXPECT_EQ(refused(world.retry(job, {0})), "task 1.1 has nothing to retry: it has not ended");
  EXPECT_EQ(refused(world.retry(job, {0, 1})),
            "of job 1 none of the 2 tasks has ended without success");
  EXPECT_EQ(refused(world.cancel(job, {1})), "task 1.2 has nothing left to cancel: it has ended");
  EXPECT_EQ(world.cancel(job, {0})->tasks, 1u);
  EXPECT_EQ(refused(world.cancel(job, {0, 1})), "of job 1 none of the 2 tasks is left to cancel");
}

TEST_F(ControllerTest, a_retry_of_what_succeeded_is_refused_also_in_the_round_in_which_it_ended) {
  const JobId job = submit(spec(cpus(1)));
  world.controller().report({AttemptEnded{{{job, 0}, 1}, world.now(), world.now(), {}, true}});
  EXPECT_EQ(world.retry(job).error().code, ErrorCode::kConflict);
  EXPECT_EQ(world.state_of(job), TaskState::kSucceeded);
}

TEST_F(ControllerTest, a_finished_job_is_retried_from_the_store) {
  JobSpec flaky = spec(cpus(1));
  flaky.command.argv = SimCommand{.exit_code = 1, .fails = 1}.argv();
  const JobId job = submit(flaky);
  world.run_until_idle();
  EXPECT_EQ(world.state_of(job), TaskState::kFailed);
  EXPECT_EQ(world.ledger().find_job(job), nullptr);
  EXPECT_EQ(world.retry(job)->tasks, 1u);
  world.run_until_idle();
  EXPECT_EQ(world.state_of(job), TaskState::kSucceeded);
}

// ---- reports and recovery
// ------------------------------------------------------------------------

TEST_F(ControllerTest, reports_of_older_attempts_are_ignored) {
  JobSpec flaky = spec(cpus(1));
  flaky.retry = {.max = 1, .backoff = seconds(1)};
  flaky.command.argv = SimCommand{.runs = seconds(5), .exit_code = 1, .fails = 1}.argv();
  const JobId job = submit(flaky);
  world.advance(seconds(7));
  ASSERT_EQ(world.ledger().find_active({job, 0})->id.number, 2u);
  world.controller().report({AttemptEnded{{{job, 0}, 1}, world.now(), world.now(), {}, true},
                             AttemptStarted{{{job, 0}, 1}, world.now(), 9},
                             AttemptEnded{{{JobId(99), 0}, 1}, {}, world.now(), {}, true}});
  world.advance(seconds(1));
  EXPECT_EQ(world.state_of(job), TaskState::kRunning);
  EXPECT_EQ(world.ledger().find_active({job, 0})->pid, 1);
}

TEST_F(ControllerTest,
       a_node_whose_clock_is_wrong_tells_spans_that_count_and_times_that_are_moved) {
  constexpr Duration kTenDays = seconds(10 * 24 * 3600);
  for (const Duration wrong : {kTenDays, Duration(0) - kTenDays}) {
    JobSpec slow = spec(cpus(1));
    slow.command.argv = SimCommand{.runs = seconds(500)}.argv();
    const JobId job = submit(slow);
    const TimePoint placed = world.now();
    world.advance(seconds(30));
    const TimePoint began = placed + wrong;
    world.controller().report({AttemptEnded{{{job, 0}, 1}, began, began + seconds(20), {}, true}});
    world.advance(seconds(1));
    const auto rows = world.store().load_tasks(job);
    ASSERT_TRUE(rows && rows->size() == 1);
    EXPECT_GE(rows->front().started_at, placed);
    EXPECT_LE(rows->front().ended_at, world.now());
    EXPECT_EQ(rows->front().ended_at - rows->front().started_at, seconds(20));
  }
}

TEST_F(ControllerTest, an_order_that_was_journalled_and_never_arrived_is_ordered_again) {
  world.cut_off_executor();
  const JobId job = submit(spec(cpus(1)));
  EXPECT_EQ(world.executor().starts(), 0u);
  world.reconnect_executor();
  EXPECT_EQ(world.executor().starts(), 1u);
  world.run_until_idle();
  EXPECT_EQ(world.state_of(job), TaskState::kSucceeded);
  EXPECT_EQ(attempts(job), 1u);
}

TEST_F(ControllerTest, an_attempt_that_another_incarnation_does_not_know_is_lost) {
  const JobId job = submit(spec(cpus(1)));
  world.kill_executor();
  EXPECT_EQ(world.state_of(job), TaskState::kFailed);
  EXPECT_EQ(world.store().load_tasks(job)->at(0).outcome.ending, Ending::kLost);
  EXPECT_EQ(world.ledger().find_node("a")->free_cpus, MilliCpu(4000));
}

TEST_F(ControllerTest, a_loss_that_could_not_be_written_stays_a_loss) {
  const JobId job = submit(spec(cpus(1)));
  world.store().fail_next(1);
  world.kill_executor();
  world.advance(seconds(5));
  EXPECT_EQ(world.state_of(job), TaskState::kFailed);
  EXPECT_THAT(world.executor().complaints(), IsEmpty());
}

TEST_F(ControllerTest, a_stop_that_was_journalled_and_never_arrived_is_ordered_again) {
  const JobId job = submit(spec(cpus(1)));
  world.cut_off_executor();
  ASSERT_TRUE(world.cancel(job));
  world.advance(seconds(1));
  EXPECT_EQ(world.state_of(job), TaskState::kRunning);
  world.reconnect_executor();
  world.advance(seconds(1));
  EXPECT_EQ(world.state_of(job), TaskState::kCancelled);
}

TEST_F(ControllerTest, what_runs_and_is_not_known_is_stopped) {
  const AttemptId stranger{{JobId(50), 0}, 1};
  world.controller().report(
      {Inventory{.nodes = {NodeId(1)}, .running = {{stranger, world.now(), 5}}}});
  world.controller().step();
  ASSERT_EQ(world.executor().last_orders().size(), 1u);
  const auto* stop = std::get_if<StopAttempt>(&world.executor().last_orders()[0]);
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->attempt, stranger);
}

TEST_F(ControllerTest, a_launch_that_fails_gives_its_allocation_back) {
  submit(spec(cpus(4), seconds(10)));
  const JobId unreadable = submit(spec(cpus(4)));
  const JobId after = submit(spec(cpus(4)));
  world.restart_controller();
  world.store().set_unreadable(true);
  world.advance(seconds(10));
  world.store().set_unreadable(false);
  EXPECT_EQ(world.state_of(unreadable), TaskState::kFailed);
  EXPECT_THAT(world.store().load_tasks(unreadable)->at(0).outcome.message, HasSubstr("database"));
  EXPECT_EQ(testing_support::broken_invariant(world.ledger()), "");
  world.run_until_idle();
  EXPECT_EQ(world.ledger().find_node("a")->free_cpus, MilliCpu(4000));
  EXPECT_TRUE(is_final(world.state_of(after)));
}

TEST_F(ControllerTest, many_submitted_at_once_do_not_share_one_allocation) {
  std::vector<JobSpec> specs(10, spec(cpus(3)));
  ASSERT_TRUE(world.submit(specs, false));
  EXPECT_EQ(world.executor().running(), 1u);
  world.run_until_idle();
  EXPECT_THAT(world.executor().complaints(), IsEmpty());
}

TEST_F(ControllerTest, a_node_that_comes_back_unchanged_is_no_event) {
  submit(spec(cpus(1)));
  const std::size_t events = world.store().journal().size();
  world.restart_controller();
  EXPECT_EQ(world.store().journal().size(), events);
}

TEST_F(ControllerTest, a_drained_node_stays_drained_over_a_restart) {
  ASSERT_TRUE(world.set_node_state("a", Node::State::kDraining, "maintenance"));
  world.restart_controller();
  EXPECT_EQ(world.ledger().find_node("a")->state, Node::State::kDraining);
  EXPECT_EQ(world.ledger().find_node("a")->state_reason, "maintenance");
  EXPECT_EQ(world.set_node_state("b", Node::State::kUp).error().code, ErrorCode::kNotFound);
}

TEST_F(ControllerTest, cancel_all_cancels_everything_that_is_not_over) {
  const JobId running = submit(spec(cpus(4)));
  const JobId waiting = submit(spec(cpus(4), seconds(1), 3));
  Changed changed;
  world.controller().cancel_all([&](Result<Changed> result) { changed = *result; });
  world.run_until_idle();
  EXPECT_EQ(changed.tasks, 4u);
  EXPECT_THAT(changed.jobs, testing::ElementsAre(running, waiting));
  EXPECT_EQ(world.state_of(running), TaskState::kCancelled);
  EXPECT_EQ(world.state_of(waiting), TaskState::kCancelled);
}

TEST_F(ControllerTest, a_batch_runs_the_lines_that_were_submitted) {
  JobSpec batch = spec(cpus(4));
  batch.command = {};
  batch.lines = {"sim runs=1s", "sim runs=2s", "sim runs=4s exit=3"};
  const JobId job = submit(batch);
  world.restart_controller();
  world.run_until_idle();
  EXPECT_EQ(world.elapsed(), seconds(7));
  EXPECT_EQ(world.store().load_job(job)->exit_status, 3);
}

TEST_F(ControllerTest, the_limit_of_a_machine_elsewhere_holds_whatever_its_executor_tells) {
  Node far = node("far", 8);
  far.remote.address = "ada@far";
  world.add_node(far);
  ASSERT_TRUE(world.set_node_limit("far", 2));
  far.memory += MiB(512);
  world.add_node(far);
  JobSpec many = spec(cpus(1));
  many.request.labels = {"far"};
  many.tasks = {.shape = TaskSet::Shape::kArray, .count = 5};
  submit(std::move(many));
  EXPECT_EQ(world.ledger().find_node("far")->jobs, 2u);
  EXPECT_EQ(world.set_node_limit("a", 2).error().code, ErrorCode::kConflict);
  EXPECT_EQ(world.set_node_limit("none", 2).error().code, ErrorCode::kNotFound);
}

// In a real lane the task before them may end between two orders.
TEST_F(ControllerTest, what_is_staged_is_taken_back_from_its_end) {
  world.add_node(testing_support::with_backlog(node("a", 4)));
  JobSpec many = spec(cpus(4));
  many.command.argv = {"sim", "runs=5ms"};
  many.tasks = {.shape = TaskSet::Shape::kArray, .count = 5000};
  submit(many);
  world.advance(seconds(1));
  JobSpec urgent = spec(cpus(4));
  urgent.kind = "urgent";
  urgent.priority = 5;
  world.cut_off_executor();
  submit(urgent);
  std::vector<std::uint32_t> recalled;
  for (const Effect& effect : world.executor().last_orders()) {
    if (const auto* recall = std::get_if<RecallAttempt>(&effect))
      recalled.push_back(recall->attempt.task.index);
  }
  ASSERT_GE(recalled.size(), 2u);
  EXPECT_TRUE(std::is_sorted(recalled.rbegin(), recalled.rend()));
}

}  // namespace
}  // namespace tutti
