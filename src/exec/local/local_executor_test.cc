#include "exec/local/local_executor.h"

#include <signal.h>
#include <sys/resource.h>

#include "exec/keeper/enforcement.h"
#include "exec/local/local_fixture.h"

namespace tutti {
namespace {

using LocalExecutorTest = LocalFixture;

TEST_F(LocalExecutorTest, attach_reports_this_machine_and_an_empty_inventory) {
  ASSERT_EQ(sink_->nodes().size(), 1u);
  EXPECT_EQ(sink_->nodes()[0].id, NodeId(1));
  EXPECT_EQ(sink_->nodes()[0].cpus, MilliCpu(2000));
  EXPECT_TRUE(sink_->nodes()[0].keeps_backlog);
  EXPECT_EQ(sink_->last_inventory().nodes, std::vector<NodeId>{NodeId(1)});
}

TEST_F(LocalExecutorTest, exit_code_and_both_streams_are_kept) {
  const AttemptEnded ended = run(shell_order(0, "echo out; echo err >&2; exit 7"));
  EXPECT_EQ(ended.outcome.ending, Ending::kExited);
  EXPECT_EQ(ended.outcome.exit_code, 7);
  EXPECT_TRUE(ended.released);
  EXPECT_GE(ended.ended_at, ended.started_at);
  EXPECT_EQ(content("logs/1/0.out"), "out\n");
  EXPECT_EQ(content("logs/1/0.err"), "err\n");
}

TEST_F(LocalExecutorTest, one_path_for_both_streams_keeps_their_order) {
  StartAttempt order = shell_order(0, "echo a; echo b >&2; echo c");
  order.launch.stderr_path = order.launch.stdout_path;
  run(std::move(order));
  EXPECT_EQ(content("logs/1/0.out"), "a\nb\nc\n");
}

TEST_F(LocalExecutorTest, a_signal_is_told_from_an_exit_code) {
  const AttemptEnded ended = run(shell_order(0, "kill -SEGV $$"));
  EXPECT_EQ(ended.outcome.ending, Ending::kSignalled);
  EXPECT_EQ(ended.outcome.signal, SIGSEGV);
}

TEST_F(LocalExecutorTest, environment_of_the_attempt_replaces_that_of_the_job) {
  StartAttempt order = shell_order(0, "echo $COLOUR $SIZE $PWD; readlink /proc/self/fd/0");
  order.launch.env = {"COLOUR=blue", "SIZE=9"};
  run(std::move(order));
  EXPECT_EQ(content("logs/1/0.out"), "blue 9 " + home_ + "\n/dev/null\n");
}

TEST_F(LocalExecutorTest, a_job_inherits_no_descriptor_no_blocked_signal_and_its_own_session) {
  run(shell_order(0,
                  "ls /proc/self/fd | wc -l; grep SigBlk /proc/self/status | cut -f2; "
                  "test $$ = $(ps -o sid= -p $$) && echo leader"));
  EXPECT_EQ(content("logs/1/0.out"), "4\n0000000000000000\nleader\n");
}

TEST_F(LocalExecutorTest, a_program_is_searched_in_the_jobs_path) {
  EXPECT_EQ(run(start_order(0, {"true"})).outcome.ending, Ending::kExited);
  EXPECT_EQ(run(start_order(1, {"false"})).outcome.exit_code, 1);
  StartAttempt order = start_order(2, {"true"});
  order.launch.env = {"PATH=/nowhere"};
  EXPECT_EQ(run(std::move(order)).outcome.exit_code, 127);
}

TEST_F(LocalExecutorTest, an_unknown_command_is_not_started_and_says_so) {
  const AttemptEnded ended = run(start_order(0, {"no-such-program"}));
  EXPECT_EQ(ended.outcome.ending, Ending::kNotStarted);
  EXPECT_EQ(ended.outcome.exit_code, 127);
  EXPECT_EQ(ended.outcome.message, "cannot execute 'no-such-program': No such file or directory");
  EXPECT_FALSE(ended.started_at);
  EXPECT_TRUE(ended.released);
}

TEST_F(LocalExecutorTest, a_file_that_is_no_program_is_not_started) {
  const AttemptEnded ended = run(start_order(0, {"/etc/passwd"}));
  EXPECT_EQ(ended.outcome.ending, Ending::kNotStarted);
  EXPECT_EQ(ended.outcome.exit_code, 126);
  EXPECT_EQ(ended.outcome.message, "cannot execute '/etc/passwd': Permission denied");
}

TEST_F(LocalExecutorTest, a_script_without_interpreter_line_is_run_by_the_shell) {
  std::ofstream(home_ + "/plain") << "echo plain $1\n";
  chmod((home_ + "/plain").c_str(), 0755);
  EXPECT_TRUE(run(start_order(0, {"./plain", "x"})).outcome.succeeded());
  EXPECT_EQ(content("logs/1/0.out"), "plain x\n");
}

TEST_F(LocalExecutorTest, a_missing_interpreter_is_named_as_the_cause) {
  std::ofstream(home_ + "/odd") << "#!/no/such/shell\n";
  chmod((home_ + "/odd").c_str(), 0755);
  const AttemptEnded ended = run(start_order(0, {home_ + "/odd"}));
  EXPECT_EQ(ended.outcome.exit_code, 127);
  EXPECT_NE(ended.outcome.message.find("interpreter"), std::string::npos);
}

TEST_F(LocalExecutorTest, a_missing_work_directory_is_named) {
  auto shared = context();
  shared->workdir = home_ + "/gone";
  const AttemptEnded ended = run(start_order(0, {"true"}, shared));
  EXPECT_EQ(ended.outcome.ending, Ending::kNotStarted);
  EXPECT_EQ(ended.outcome.message,
            "cannot enter the work directory '" + home_ + "/gone': No such file or directory");
}

TEST_F(LocalExecutorTest, an_output_file_that_cannot_be_opened_is_named) {
  StartAttempt order = start_order(0, {"true"});
  order.launch.stdout_path = "/proc/no/such.out";
  const AttemptEnded ended = run(std::move(order));
  EXPECT_EQ(ended.outcome.ending, Ending::kNotStarted);
  EXPECT_EQ(ended.outcome.message.find("cannot open the output file '/proc/no/such.out'"), 0u);
}

TEST_F(LocalExecutorTest, a_full_disk_is_the_attempts_failure_and_not_the_keepers) {
  StartAttempt order = shell_order(0, "echo text");
  order.launch.stdout_path = "/dev/full";
  EXPECT_EQ(run(std::move(order)).outcome.exit_code, 1);
  EXPECT_TRUE(run(start_order(1, {"true"})).outcome.succeeded());
}

TEST_F(LocalExecutorTest, a_named_pipe_that_nobody_reads_does_not_stop_the_keeper) {
  ASSERT_EQ(mkfifo((home_ + "/pipe").c_str(), 0600), 0);
  StartAttempt order = start_order(0, {"true"});
  order.launch.stdout_path = home_ + "/pipe";
  EXPECT_EQ(run(std::move(order)).outcome.ending, Ending::kNotStarted);
}

TEST_F(LocalExecutorTest, a_script_is_in_a_private_file_while_it_runs) {
  StartAttempt order = start_order(0, {kScriptPlaceholder, "arg"});
  order.launch.script_text = "#!/bin/sh\nstat -c %a $0; echo $1; basename $0\n";
  EXPECT_TRUE(run(std::move(order)).outcome.succeeded());
  EXPECT_EQ(content("logs/1/0.out"), "700\narg\n1.0.1\n");
  EXPECT_TRUE(std::filesystem::is_empty(home_ + "/scripts"));
}

TEST_F(LocalExecutorTest, cpu_time_and_memory_are_measured) {
  const AttemptEnded ended = run(shell_order(0, "for i in {1..20000}; do :; done"));
  EXPECT_GT(ended.outcome.cpu_time.value, 0);
  EXPECT_GT(ended.outcome.peak_memory.value, 0);
}

TEST_F(LocalExecutorTest, the_time_limit_ends_a_tree_that_ignores_sigterm) {
  auto shared = context();
  shared->time_limit = milliseconds(300);
  const AttemptEnded ended = run(shell_order(
      0, "trap '' TERM; sleep 1000 & echo $! > child; echo $$ > main; wait; sleep 1000", shared));
  EXPECT_EQ(ended.outcome.ending, Ending::kTimeout);
  EXPECT_EQ(ended.outcome.signal, SIGKILL);
  EXPECT_EQ(ended.outcome.message, "exceeded its time limit of 300 ms");
  EXPECT_TRUE(is_dead(await_pid("child")));
  EXPECT_TRUE(is_dead(await_pid("main")));
}

TEST_F(LocalExecutorTest, a_daemonised_descendant_does_not_survive_its_attempt) {
  const AttemptEnded ended =
      run(shell_order(0,
                      "(setsid bash -c 'echo $$ > escaped; trap \"\" TERM HUP; sleep 1000' &) ; "
                      "while ! test -s escaped; do sleep 0.01; done"));
  EXPECT_TRUE(ended.outcome.succeeded());
  EXPECT_TRUE(is_dead(await_pid("escaped")));
}

TEST_F(LocalExecutorTest, a_daemonised_descendant_with_a_new_environment_does_not_survive) {
  const AttemptEnded ended =
      run(shell_order(0,
                      "(env -i setsid /bin/bash -c 'echo $$ > escaped; exec /bin/sleep 1000' &) ; "
                      "while ! test -s escaped; do sleep 0.01; done"));
  EXPECT_TRUE(ended.outcome.succeeded());
  EXPECT_TRUE(is_dead(await_pid("escaped")));
}

TEST_F(LocalExecutorTest, the_end_of_one_attempt_leaves_the_daemons_of_another_alone) {
  give(shell_order(0, "(setsid bash -c 'echo $$ > other; sleep 1000' &) ; sleep 1000"));
  const pid_t other = await_pid("other");
  EXPECT_TRUE(run(shell_order(1, "sleep 0.01 & true")).outcome.succeeded());
  EXPECT_FALSE(is_dead(other));
  executor_->order({StopAttempt{task(0), NodeId(1), Ending::kCancelled}});
  sink_->await_end(task(0));
  EXPECT_TRUE(is_dead(other));
}

TEST_F(LocalExecutorTest, the_time_limit_ends_what_daemonised_itself) {
  auto shared = context();
  shared->time_limit = milliseconds(400);
  const AttemptEnded ended =
      run(shell_order(0,
                      "(setsid bash -c 'echo $$ > escaped; trap \"\" TERM; sleep 1000; sleep 1000' "
                      "&) ; sleep 1000",
                      shared));
  EXPECT_EQ(ended.outcome.ending, Ending::kTimeout);
  EXPECT_TRUE(is_dead(await_pid("escaped")));
}

TEST_F(LocalExecutorTest, a_stopped_attempt_may_clean_up_within_its_grace_period) {
  auto shared = context();
  shared->grace = seconds(20);
  give(shell_order(0, "trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 0.01; done",
                   shared));
  ASSERT_TRUE(eventually([&] { return content("logs/1/0.out") == "ready\n"; }));
  executor_->order({StopAttempt{task(0), NodeId(1), Ending::kPreempted}});
  const AttemptEnded ended = sink_->await_end(task(0));
  EXPECT_EQ(ended.outcome.ending, Ending::kPreempted);
  EXPECT_EQ(ended.outcome.exit_code, 3);
  EXPECT_EQ(content("logs/1/0.out"), "ready\ncleaned\n");
}

TEST_F(LocalExecutorTest, stopping_an_unknown_attempt_does_nothing) {
  executor_->order({StopAttempt{task(9), NodeId(1), Ending::kCancelled}});
  EXPECT_TRUE(run(start_order(0, {"true"})).outcome.succeeded());
  EXPECT_EQ(sink_->ends_of(task(9)), 0u);
}

TEST_F(LocalExecutorTest, a_job_gets_the_descriptor_limit_that_the_daemon_was_given) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  run(shell_order(0, "ulimit -Sn"));
  EXPECT_EQ(content("logs/1/0.out"), std::to_string(limit.rlim_cur) + "\n");
}

TEST_F(LocalExecutorTest, a_memory_limit_ends_the_attempt_and_is_named) {
  auto shared = context();
  shared->limits.memory = MiB(64);
  const AttemptEnded ended = run(
      shell_order(0, "x=$(head -c 200000000 /dev/zero | tr '\\0' a); echo ${#x}; sleep 5", shared));
  EXPECT_EQ(ended.outcome.ending, Ending::kOutOfMemory);
  EXPECT_EQ(ended.outcome.message, "exceeded its memory limit of 64 MiB");
}

TEST_F(LocalExecutorTest, a_memory_limit_that_is_kept_is_not_noticed) {
  auto shared = context();
  shared->limits = {MilliCpu(1000), MiB(64)};
  EXPECT_TRUE(run(start_order(0, {"true"}, shared)).outcome.succeeded());
  EXPECT_TRUE(run(start_order(1, {"true"}, shared)).outcome.succeeded());
}

TEST_F(LocalExecutorTest, a_cpu_limit_slows_the_attempt_down_where_groups_are_there) {
  if (!detect_enforcement().cpu) GTEST_SKIP() << "no writable control groups";
  auto shared = context();
  shared->limits.cpus = MilliCpu(200);
  const AttemptEnded ended =
      run(shell_order(0, "for ((i = 0; i < 100000; ++i)); do :; done", shared));
  EXPECT_TRUE(ended.outcome.succeeded());
  EXPECT_GT((ended.ended_at - ended.started_at).value, 2 * ended.outcome.cpu_time.value);
}

TEST_F(LocalExecutorTest, large_output_goes_to_the_file_as_it_is) {
  EXPECT_TRUE(run(shell_order(0, "head -c 20000000 /dev/urandom")).outcome.succeeded());
  EXPECT_EQ(std::filesystem::file_size(home_ + "/logs/1/0.out"), 20000000u);
}

}  // namespace
}  // namespace tutti
