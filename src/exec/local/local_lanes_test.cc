#include <signal.h>

#include "exec/local/local_fixture.h"

// Lanes, restarts and deaths: what happens to several attempts together.

namespace tutti {
namespace {

class LocalLanesTest : public LocalFixture {
 protected:
  // An attempt of one common lane that runs until `gate` exists.
  StartAttempt gated(std::uint32_t index, bool staged, const std::string& gate = "gate") {
    StartAttempt order = shell_order(index, "while ! test -e " + gate + "; do sleep 0.005; done");
    order.lane = LaneId(1);
    order.staged = staged;
    return order;
  }
  void open_gate(const std::string& gate = "gate") { std::ofstream(home_ + "/" + gate) << "\n"; }
};

TEST_F(LocalLanesTest, staged_attempts_follow_in_order_and_the_last_one_releases) {
  std::vector<Effect> effects;
  for (std::uint32_t i = 0; i < 5; ++i) effects.emplace_back(gated(i, i > 0));
  executor_->order(std::move(effects));
  sink_->await_start(task(0));
  open_gate();
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(sink_->await_end(task(i)).released, i == 4) << i;
  }
  EXPECT_EQ(sink_->start_order(),
            (std::vector<AttemptId>{task(0), task(1), task(2), task(3), task(4)}));
}

TEST_F(LocalLanesTest, a_lane_runs_as_many_at_once_as_it_has_allocations) {
  executor_->order({gated(0, false), gated(1, false), gated(2, true)});
  sink_->await_start(task(0));
  sink_->await_start(task(1));
  EXPECT_EQ(sink_->start_order().size(), 2u);
  open_gate();
  const int released = sink_->await_end(task(0)).released + sink_->await_end(task(1)).released +
                       sink_->await_end(task(2)).released;
  EXPECT_EQ(released, 2);
}

TEST_F(LocalLanesTest, a_staged_attempt_that_is_stopped_never_starts) {
  executor_->order({gated(0, false), gated(1, true), gated(2, true)});
  sink_->await_start(task(0));
  executor_->order({StopAttempt{task(1), NodeId(1), Ending::kCancelled}});
  const AttemptEnded ended = sink_->await_end(task(1));
  EXPECT_EQ(ended.outcome.ending, Ending::kCancelled);
  EXPECT_FALSE(ended.started_at);
  EXPECT_FALSE(ended.released);
  open_gate();
  EXPECT_TRUE(sink_->await_end(task(2)).released);
}

TEST_F(LocalLanesTest, recall_takes_back_what_waits_and_not_what_runs) {
  executor_->order({gated(0, false), gated(1, true)});
  sink_->await_start(task(0));
  executor_->order({RecallAttempt{task(0), NodeId(1)}, RecallAttempt{task(1), NodeId(1)}});
  EXPECT_EQ(sink_->await_end(task(1)).outcome.ending, Ending::kRecalled);
  open_gate();
  EXPECT_EQ(sink_->await_end(task(0)).outcome.ending, Ending::kExited);
}

TEST_F(LocalLanesTest, attempts_that_cannot_start_make_room_for_the_next) {
  std::vector<Effect> effects;
  for (std::uint32_t i = 0; i < 50; ++i) {
    StartAttempt order = start_order(i, {"no-such-program"});
    order.lane = LaneId(1);
    order.staged = i > 0;
    effects.emplace_back(std::move(order));
  }
  // Held up at first so that all of them are there when the first one fails.
  effects.insert(effects.begin(), gated(99, false));
  std::get<StartAttempt>(effects[1]).staged = true;
  executor_->order(std::move(effects));
  sink_->await_start(task(99));
  open_gate();
  for (std::uint32_t i = 0; i < 50; ++i) {
    const AttemptEnded ended = sink_->await_end(task(i));
    EXPECT_EQ(ended.outcome.ending, Ending::kNotStarted);
    EXPECT_EQ(ended.released, i == 49);
  }
}

TEST_F(LocalLanesTest, an_attempt_staged_in_a_lane_that_is_gone_is_given_back) {
  StartAttempt order = start_order(0, {"true"});
  order.staged = true;
  const AttemptEnded ended = run(std::move(order));
  EXPECT_EQ(ended.outcome.ending, Ending::kRecalled);
  EXPECT_FALSE(ended.released);
}

TEST_F(LocalLanesTest, results_wait_for_the_next_daemon) {
  executor_->order({gated(0, false), gated(1, true, "second")});
  sink_->await_start(task(0));
  detach();
  open_gate();
  attach();
  EXPECT_TRUE(sink_->last_inventory().same_incarnation);
  EXPECT_TRUE(sink_->await_end(task(0)).outcome.succeeded());
  open_gate("second");
  EXPECT_TRUE(sink_->await_end(task(1)).outcome.succeeded());
}

TEST_F(LocalLanesTest, the_inventory_lists_what_waits_and_what_runs) {
  executor_->order({gated(0, false), gated(1, true)});
  sink_->await_start(task(0));
  detach();
  attach();
  const Inventory inventory = sink_->last_inventory();
  ASSERT_EQ(inventory.running.size(), 1u);
  EXPECT_EQ(inventory.running[0].attempt, task(0));
  EXPECT_GT(inventory.running[0].pid, 0);
  EXPECT_EQ(inventory.staged, std::vector<AttemptId>{task(1)});
  open_gate();
  sink_->await_end(task(1));
}

TEST_F(LocalLanesTest, an_end_is_told_again_until_it_is_journalled) {
  run(start_order(0, {"true"}));
  detach();
  attach();
  EXPECT_EQ(sink_->ends_of(task(0)), 1u);
  executor_->journalled(std::vector<AttemptId>{task(0)});
  // What follows on the same connection is behind the acknowledgement.
  run(start_order(1, {"true"}));
  detach();
  attach();
  EXPECT_EQ(sink_->ends_of(task(0)), 0u);
  EXPECT_EQ(sink_->ends_of(task(1)), 1u);
}

TEST_F(LocalLanesTest, an_order_that_is_given_twice_is_carried_out_once) {
  executor_->order({gated(0, false)});
  sink_->await_start(task(0));
  detach();
  attach();
  executor_->order({gated(0, false)});
  open_gate();
  sink_->await_end(task(0));
  EXPECT_EQ(sink_->ends_of(task(0)), 1u);
}

TEST_F(LocalLanesTest, a_keeper_without_work_ends_with_its_daemon_and_nothing_counts_as_lost) {
  run(start_order(0, {"true"}));
  executor_->journalled(std::vector<AttemptId>{task(0)});
  const auto keeper = static_cast<pid_t>(executor_->keeper_pid());
  detach();
  EXPECT_TRUE(eventually([&] { return is_dead(keeper); }));
  attach();
  EXPECT_NE(executor_->keeper_pid(), keeper);
  EXPECT_TRUE(sink_->last_inventory().same_incarnation);
}

TEST_F(LocalLanesTest, when_the_keeper_is_killed_all_is_lost_and_nothing_survives) {
  executor_->order(
      {shell_order(0,
                   "(setsid bash -c 'echo $$ > far; sleep 1000' &) ; echo $$ > near; sleep 1000"),
       gated(1, false), gated(2, true)});
  const pid_t far = await_pid("far");
  const pid_t near = await_pid("near");
  sink_->await_start(task(1));
  kill(static_cast<pid_t>(executor_->keeper_pid()), SIGKILL);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const AttemptEnded ended = sink_->await_end(task(i));
    EXPECT_EQ(ended.outcome.ending, Ending::kLost);
    EXPECT_EQ(ended.outcome.message, "the keeper process ended unexpectedly");
    EXPECT_EQ(ended.released, i != 2) << i;
  }
  EXPECT_TRUE(is_dead(far));
  EXPECT_TRUE(is_dead(near));
}

TEST_F(LocalLanesTest, work_goes_on_with_a_new_keeper) {
  run(start_order(0, {"true"}));
  kill(static_cast<pid_t>(executor_->keeper_pid()), SIGKILL);
  // Ordered before or after the death is noticed: it ends either way, and the next one runs.
  const Ending first = run(start_order(1, {"true"})).outcome.ending;
  EXPECT_TRUE(first == Ending::kExited || first == Ending::kLost);
  EXPECT_TRUE(run(start_order(2, {"true"})).outcome.succeeded());
}

TEST_F(LocalLanesTest, after_both_died_nothing_survives_and_the_incarnation_is_another) {
  give(shell_order(0, "(setsid bash -c 'echo $$ > far; sleep 1000' &) ; sleep 1000"));
  const pid_t far = await_pid("far");
  const auto keeper = static_cast<pid_t>(executor_->keeper_pid());
  detach();
  kill(keeper, SIGKILL);
  ASSERT_TRUE(eventually([&] { return is_dead(keeper); }));
  attach();
  EXPECT_FALSE(sink_->last_inventory().same_incarnation);
  EXPECT_TRUE(sink_->last_inventory().running.empty());
  EXPECT_TRUE(is_dead(far));
}

TEST_F(LocalLanesTest, many_short_attempts_end_once_each) {
  std::vector<Effect> effects;
  for (std::uint32_t i = 0; i < 300; ++i) {
    StartAttempt order = start_order(i, {"/bin/true"});
    order.lane = LaneId(1);
    order.staged = i > 1;
    effects.emplace_back(std::move(order));
  }
  // Behind a gate, so that staged attempts find their lane alive.
  effects.insert(effects.begin(), gated(1000, false));
  executor_->order(std::move(effects));
  open_gate();
  for (std::uint32_t i = 0; i < 300; ++i) {
    EXPECT_TRUE(sink_->await_end(task(i)).outcome.succeeded()) << i;
  }
  for (std::uint32_t i = 0; i < 300; ++i) EXPECT_EQ(sink_->ends_of(task(i)), 1u);
}

}  // namespace
}  // namespace tutti
