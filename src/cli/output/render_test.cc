#include "cli/output/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/output/progress.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "cli/testing/fake.h"

namespace tutti {
namespace {

using ::testing::HasSubstr;

constexpr TimePoint kNow{1'800'000'000'000'000};

JobView job_of(std::uint64_t id, std::string name, std::string state) {
  JobView job;
  job.id = id;
  job.name = std::move(name);
  job.state = std::move(state);
  job.user = "ann";
  job.command = "python train.py";
  job.cpus = 1;
  job.submitted_at = kNow - seconds(180);
  return job;
}

JobView batch_of(std::uint64_t done, std::uint64_t failed, std::uint64_t total) {
  JobView job = job_of(7, "batch", "running");
  job.tasks = total;
  job.counts.succeeded = done - failed;
  job.counts.failed = failed;
  job.counts.running = 2;
  job.counts.queued = total - done - 2;
  job.started_at = kNow - seconds(60);
  return job;
}

TEST(Text, hostile_names_are_shown_escaped) {
  EXPECT_EQ(printable("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(printable("\033[31mred"), "\\x1b[31mred");
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc2\x9b"), "\\x9b");
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "evil"),
            "\\u202eevil");
  EXPECT_EQ(printable("größe 数"), "größe 数");
}

TEST(Text, columns_count_wide_and_combining_characters) {
  EXPECT_EQ(columns_of("abc"), 3u);
  EXPECT_EQ(columns_of("数字"), 4u);
  EXPECT_EQ(columns_of("e\xcc\x81"), 1u);
}

TEST(Text, cutting_never_splits_a_character) {
  EXPECT_EQ(cut_to("abcdef", 4), "abc…");
  EXPECT_EQ(cut_to("数字数字", 4), "数…");
  EXPECT_EQ(cut_to("abc", 3), "abc");
}

TEST(Text, times_are_relative) {
  EXPECT_EQ(ago(kNow - seconds(180), kNow), "3m ago");
  EXPECT_EQ(ago(TimePoint(), kNow), "-");
  EXPECT_EQ(ago(kNow + seconds(5), kNow), "now");
  EXPECT_EQ(from_now(kNow + seconds(90), kNow), "in 1m30s");
  EXPECT_EQ(short_duration(seconds(3 * 86400)), "3d");
}

TEST(Table, columns_line_up_and_lines_have_no_trailing_blanks) {
  Table table({{"ID", Table::Align::kRight}, {"NAME"}, {"NOTE"}});
  table.add({"7", "数字", ""});
  table.add({"123", "ab", "x"});
  EXPECT_EQ(table.render(FakeScreen()),
            " ID  NAME  NOTE\n"
            "  7  数字\n"
            "123  ab    x\n");
}

TEST(Table, the_last_column_is_cut_on_a_terminal_only) {
  FakeScreen screen;
  Table table({{"ID"}, {"COMMAND"}});
  table.add({"1", "abcdefghijklmnopqrstuvwxyz"});
  EXPECT_NE(table.render(screen).find("xyz"), std::string::npos);
  screen.columns = 20;
  EXPECT_EQ(table.render(screen), "ID  COMMAND\n1   abcdefghijklmno…\n");
}

TEST(Render, the_list_of_jobs) {
  std::vector<JobView> jobs{job_of(12, "train", "running"), batch_of(512, 2, 1000),
                            job_of(3, "bad\nname", "failed")};
  jobs[0].started_at = kNow - seconds(65);
  jobs[2].exit_code = 3;
  jobs[2].started_at = kNow - seconds(100);
  jobs[2].finished_at = jobs[2].started_at + milliseconds(2400);
  EXPECT_EQ(render_jobs(jobs, FakeScreen(), kNow),
            "ID  NAME       STATE          TASKS  USER  AGE  TIME  COMMAND\n"
            "12  train      running            1  ann    3m  1m5s  python train.py\n"
            " 7  batch      running     512/1000  ann    3m    1m  python train.py\n"
            " 3  bad\\nname  failed (3)         1  ann    3m  2.4s  python train.py\n");
}

TEST(Render, one_job_in_full) {
  JobView job = job_of(12, "train", "failed");
  job.memory_mib = 20480;
  job.time_limit_s = 3600;
  job.workdir = "/home/ann/x";
  job.node = "box";
  job.started_at = kNow - seconds(120);
  job.finished_at = kNow - seconds(60);
  job.ending = "exited";
  job.exit_code = 3;
  EXPECT_EQ(render_job(job, FakeScreen(), kNow),
            "Job 12 train  failed\n"
            "  command    python train.py\n"
            "  folder     /home/ann/x\n"
            "  user       ann\n"
            "  request    1 core, 20G memory, at most 1h\n"
            "  submitted  3m ago\n"
            "  started    2m ago\n"
            "  finished   60s ago\n"
            "  ran        1m\n"
            "  node       box\n"
            "  result     exit 3\n");
}

TEST(Render, a_job_of_a_snapshot_tells_where_it_runs) {
  JobView job = job_of(12, "train", "running");
  job.workdir = "/home/ann/x";
  job.snapshot = true;
  EXPECT_THAT(render_job(job, FakeScreen(), kNow),
              HasSubstr("  folder     a copy of /home/ann/x\n"));
  job.copy = "/h/work/12";
  EXPECT_THAT(render_job(job, FakeScreen(), kNow),
              HasSubstr("  folder     /h/work/12, a copy of /home/ann/x\n"));
}

TEST(Render, an_explanation_has_causes_remedies_and_times) {
  ExplanationView explanation;
  explanation.job = 7;
  explanation.state = "queued";
  explanation.reasons = {"no node has 4 cores free: box has 1 of 8"};
  explanation.remedies = {"cancel job 3"};
  explanation.p50 = kNow + seconds(60);
  explanation.p90 = kNow + seconds(300);
  explanation.basis = "the time limits of running jobs";
  EXPECT_EQ(render_explanation(explanation, FakeScreen(), kNow),
            "Job 7 waits:\n"
            "  - no node has 4 cores free: box has 1 of 8\n"
            "What would start it:\n"
            "  - cancel job 3\n"
            "Expected start: in 1m, at the latest in 5m (9 times of 10)\n"
            "  from the time limits of running jobs\n");
}

TEST(Render, what_waits_does_not_start_now) {
  ExplanationView explanation;
  explanation.job = 7;
  explanation.reasons = {"waits"};
  explanation.p50 = explanation.p90 = kNow;
  EXPECT_THAT(render_explanation(explanation, FakeScreen(), kNow),
              HasSubstr("Expected start: within a second\n"));
  explanation.p90 = kNow + seconds(29);
  EXPECT_THAT(render_explanation(explanation, FakeScreen(), kNow),
              HasSubstr("Expected start: within a second, at the latest in 29s (9 times of 10)\n"));
}

TEST(Render, a_job_that_does_not_wait_is_told_so) {
  ExplanationView explanation;
  explanation.job = 7;
  explanation.state = "failed";
  EXPECT_EQ(render_explanation(explanation, FakeScreen(), kNow),
            "Job 7 does not wait: its state is failed.\n");
  explanation.task = 3;
  explanation.of_task = true;
  EXPECT_EQ(render_explanation(explanation, FakeScreen(), kNow),
            "Task 7.3 does not wait: its state is failed.\n");
  EXPECT_EQ(render_explanation({}, FakeScreen(), kNow), "The job would start at once.\n");
}

TEST(Table, columns_are_left_out_where_rows_would_wrap) {
  FakeScreen screen;
  JobView job = job_of(12, "a-rather-long-name-of-it", "failed");
  job.exit_code = 127;
  job.started_at = kNow - seconds(100);
  const auto widest = [&](int columns) {
    screen.columns = columns;
    const std::string text = render_jobs({job}, screen, kNow);
    std::size_t most = 0;
    for (std::size_t at = 0, end; (end = text.find('\n', at)) != text.npos; at = end + 1)
      most = std::max(most, columns_of(text.substr(at, end - at)));
    return most;
  };
  for (int columns = 43; columns < 120; ++columns)
    EXPECT_LE(widest(columns), static_cast<std::size_t>(columns));
  screen.columns = 50;
  const std::string text = render_jobs({job}, screen, kNow);
  EXPECT_EQ(text.find("USER"), text.npos);
  EXPECT_EQ(text.find("ann"), text.npos);
  EXPECT_THAT(text, HasSubstr("failed (127)"));
}

TEST(Render, a_failed_line_is_named_with_its_code) {
  TaskView task;
  task.label = 5;
  task.line = 7;
  task.state = "failed";
  task.ending = "exited";
  task.exit_code = 3;
  task.command = "sh -c 'exit 3'";
  EXPECT_EQ(failure_line(19, task), "line 7 (task 19.5) failed (exit 3): sh -c 'exit 3'");
  task.line.reset();
  task.ending = "timeout";
  EXPECT_EQ(failure_line(19, task), "task 19.5 failed (time limit): sh -c 'exit 3'");
  task.message = "no room";
  EXPECT_EQ(failure_line(19, task), "task 19.5 failed (time limit): sh -c 'exit 3'; no room");
  task.command.clear();
  EXPECT_EQ(failure_line(19, task), "task 19.5 failed (time limit): no room");
  task.command = std::string(1'000'000, 'x');
  EXPECT_LT(failure_line(19, task).size(), 400u);
}

TEST(Render, a_task_in_back_off_tells_its_last_try_and_when_it_runs_again) {
  TaskView task;
  task.state = "queued";
  EXPECT_EQ(render_retry(task, kNow), "");
  task.attempt = 2;
  task.ending = "exited";
  task.exit_code = 9;
  task.not_before = kNow + seconds(25);
  EXPECT_EQ(render_retry(task, kNow), "  last try   attempt 2: exit 9\n  runs again in 25s\n");
  task.state = "failed";
  EXPECT_EQ(render_retry(task, kNow), "");
}

TEST(Render, a_job_tells_how_many_of_its_tasks_run_at_once) {
  JobView job = batch_of(3, 1, 10);
  EXPECT_EQ(render_job(job, FakeScreen(), kNow).find("at once"), std::string::npos);
  job.max_parallel = 4;
  EXPECT_THAT(render_job(job, FakeScreen(), kNow), HasSubstr("at most 4 at once"));
}

TEST(Render, tasks_tell_their_line_where_it_is_not_their_number) {
  TaskView task;
  task.label = 5;
  task.line = 5;
  EXPECT_EQ(render_tasks({task}, FakeScreen(), kNow).find("LINE"), std::string::npos);
  task.line = 7;
  EXPECT_THAT(render_tasks({task}, FakeScreen(), kNow), HasSubstr("TASK  LINE  STATE"));
}

TEST(Render, the_rank_that_failed_first_is_told_with_its_log) {
  std::vector<TaskView> ranks(3);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].label = static_cast<std::int64_t>(i);
    ranks[i].state = i == 0 ? "cancelled" : "failed";
    ranks[i].ending = "exited";
    ranks[i].exit_code = 3;
    ranks[i].finished_at = TimePoint(10 - static_cast<std::int64_t>(i));
    ranks[i].stderr_path = "/logs/" + std::to_string(i) + ".err";
  }
  EXPECT_EQ(first_failure(12, ranks),
            "rank 2 failed first (exit 3); see 'tutti logs 12.2' (/logs/2.err)");
  EXPECT_EQ(first_failure(12, {ranks[0]}), "");
}

TEST(Progress, the_bar_fits_the_width) {
  const JobView job = batch_of(512, 2, 1000);
  EXPECT_EQ(progress_line(job, kNow, 80),
            "[================>               ]  512/1,000  2 failed  2 running  1m, 57s left");
  EXPECT_EQ(progress_line(job, kNow, 30), "512/1,000  2 failed  2 runnin…");
  for (int width = 1; width < 200; ++width) {
    EXPECT_LE(columns_of(progress_line(job, kNow, width)), static_cast<std::size_t>(width));
  }
}

TEST(Progress, the_summary_counts_what_became_of_the_tasks) {
  JobView job = batch_of(1000, 2, 1002);
  job.finished_at = job.started_at + seconds(12);
  EXPECT_EQ(progress_summary(job), "1,002 tasks: 998 succeeded, 2 failed (12s)");
}

TEST(Progress, the_bar_is_silent_without_a_terminal) {
  FakeScreen screen;
  ProgressBar(screen).show(batch_of(1, 0, 10), kNow);
  EXPECT_EQ(screen.err_text, "");
  screen.terminal = true;
  screen.columns = 80;
  { ProgressBar(screen).show("x"); }
  EXPECT_EQ(screen.err_text, "\rx\033[K\r\033[K");
}

TEST(Screen, colours_only_where_they_are_shown) {
  FakeScreen screen;
  EXPECT_EQ(screen.styled(Style::kRed, "x"), "x");
  screen.coloured = true;
  EXPECT_EQ(screen.styled(Style::kRed, "x"), "\033[31mx\033[0m");
}

}  // namespace
}  // namespace tutti
