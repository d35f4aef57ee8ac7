#include "cli/verbs/verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

#include "cli/dispatch.h"
#include "cli/testing/scripted_verbs.h"

namespace tutti {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

class VerbTest : public ScriptedVerbs {};

TEST_F(VerbTest, no_verb_and_an_unknown_verb_are_usage_errors) {
  EXPECT_EQ(call({}), 2);
  EXPECT_EQ(call({"sumbit"}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("unknown verb 'sumbit', did you mean 'submit'?"));
  for (const char* verb : {"top", "attach", "exec"}) EXPECT_EQ(call({verb, "3"}), 2);
  EXPECT_THAT(screen.err_text, AllOf(HasSubstr("ls -w"), HasSubstr("logs -f"), HasSubstr("run'")));
  EXPECT_THAT(screen.err_text, Not(HasSubstr("'execute_batch'")));
}

TEST_F(VerbTest, help_and_version_need_no_daemon) {
  EXPECT_EQ(call({"--help"}), 0);
  EXPECT_EQ(call({"help", "submit"}), 0);
  EXPECT_EQ(call({"ps", "--help"}), 0);
  EXPECT_EQ(call({"--version"}), 0);
  EXPECT_EQ(call({"help", "nothing"}), 2);
  EXPECT_TRUE(asked.requests.empty());
}

TEST_F(VerbTest, submit_sends_the_command_and_prints_the_id) {
  daemon->answers["POST /v1/jobs"] = R"({"id":12,"ids":[12]})";
  EXPECT_EQ(call({"submit", "-n", "train", "--cpus", "2", "--env", "A=1", "--", "echo", "a b"}), 0);
  EXPECT_EQ(screen.out_text, "Submitted job 12 (train).\n");
  EXPECT_EQ(body().at("command"), (json::array{"echo", "a b"}));
  EXPECT_EQ(body().at("cpus"), "2");
  EXPECT_EQ(body().at("workdir"), json::value(std::filesystem::current_path().string()));
  EXPECT_THAT(json::serialize(body().at("env")), HasSubstr("\"A=1\""));
}

TEST_F(VerbTest, submit_quiet_prints_one_token_and_json_one_object) {
  daemon->answers["POST /v1/jobs"] = R"({"id":12,"ids":[12]})";
  EXPECT_EQ(call({"submit", "-q", "true"}), 0);
  EXPECT_EQ(screen.out_text, "12\n");
  screen.out_text.clear();
  EXPECT_EQ(call({"submit", "--json", "true"}), 0);
  EXPECT_EQ(screen.out_text, "{\"api\":1,\"id\":12,\"ids\":[12]}\n");
}

TEST_F(VerbTest, one_word_with_blanks_is_a_line_for_the_shell) {
  daemon->answers["POST /v1/jobs"] = R"({"id":1,"ids":[1]})";
  EXPECT_EQ(call({"submit", "cd /tmp && ls"}), 0);
  EXPECT_EQ(body().at("command"), "cd /tmp && ls");
}

TEST_F(VerbTest, a_dry_run_says_that_a_job_would_start_and_nothing_when_quiet) {
  daemon->answers["POST /v1/jobs?dry_run=1"] =
      R"({"dry_run":true,"explanations":[{"job":0,"state":"queued",)"
      R"("reasons":[{"code":"starting","text":"nothing blocks it: it starts now"}]}]})";
  EXPECT_EQ(call({"submit", "--dry-run", "--", "true"}), 0);
  EXPECT_EQ(screen.out_text, "Nothing was submitted.\nThe job would start at once.\n");
  screen.out_text.clear();
  EXPECT_EQ(call({"submit", "--dry-run", "-q", "--", "true"}), 0);
  EXPECT_EQ(screen.out_text, "");
}

TEST_F(VerbTest, a_bad_value_is_a_usage_error_before_the_daemon_is_asked) {
  EXPECT_EQ(call({"submit", "--cpus", "banana", "--", "true"}), 2);
  EXPECT_EQ(call({"submit", "--mem", "-3", "--", "true"}), 2);
  EXPECT_EQ(call({"submit", "--time", "soon", "--", "true"}), 2);
  EXPECT_EQ(call({"submit", "--array", "9-1", "--", "true"}), 2);
  EXPECT_EQ(call({"submit", "--priority", "x", "--", "true"}), 2);
  EXPECT_EQ(call({"submit", "--retries", "-1", "--", "true"}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("from 0 to 1000"));
  EXPECT_EQ(call({"submit", "--after", "x", "--", "true"}), 2);
  EXPECT_EQ(call({"submit", "--env", "=1", "--", "true"}), 2);
  EXPECT_EQ(call({"submit", "--name", "a\nb", "--", "true"}), 2);
  EXPECT_EQ(call({"submit", "--name", "\xff", "--", "true"}), 2);
  EXPECT_EQ(call({"submit", "-o", "%z", "--", "true"}), 2);
  EXPECT_EQ(call({"submit", "--array", "1-3", "-o", "x.txt", "--", "true"}), 2);
  EXPECT_EQ(call({"run", "--", ""}), 2);
  EXPECT_EQ(call({"batch", "-o", "x.txt", file("b", "true\nfalse\n")}), 2);
  EXPECT_TRUE(asked.requests.empty());
}

TEST_F(VerbTest, errors_with_json_are_one_object_on_stdout) {
  EXPECT_EQ(call({"submit", "--json", "--cpus", "banana", "--", "true"}), 2);
  const json::value error = json::parse(screen.out_text);
  EXPECT_EQ(error.at("error").at("code"), "invalid_input");
  EXPECT_EQ(screen.err_text, "");
}

TEST_F(VerbTest, a_script_with_directives_is_sent_as_text_and_the_command_line_wins) {
  daemon->answers["POST /v1/jobs"] = R"({"id":5,"ids":[5]})";
  const std::string path = file("train.sh", "#!/bin/bash\n#TUTTI --cpus 4 --time 1h\necho $1\n");
  EXPECT_EQ(call({"submit", "--cpus", "2", path, "arg"}), 0);
  EXPECT_EQ(body().at("cpus"), "2");
  EXPECT_EQ(body().at("time"), "1h");
  EXPECT_EQ(body().at("script_name"), "train.sh");
  EXPECT_EQ(body().at("args"), json::array{"arg"});
  EXPECT_THAT(std::string(body().at("script").as_string()), HasSubstr("echo $1"));
}

TEST_F(VerbTest, after_dashes_a_script_is_an_ordinary_command) {
  daemon->answers["POST /v1/jobs"] = R"({"id":5,"ids":[5]})";
  const std::string path = file("train.sh", "#!/bin/bash\n#TUTTI --cpus 4\n");
  EXPECT_EQ(call({"submit", "--", path}), 0);
  EXPECT_EQ(body().at("command"), json::array{path});
}

TEST_F(VerbTest, a_bad_directive_names_file_and_line) {
  const std::string path = file("train.sh", "#!/bin/bash\n#TUTTI --cpuss 4\n");
  EXPECT_EQ(call({"submit", path}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("train.sh:2: unknown option '--cpuss'"));
}

TEST_F(VerbTest, a_job_file_is_completed_from_the_command_line) {
  daemon->answers["POST /v1/jobs"] = R"({"id":5,"ids":[5]})";
  const std::string path = file("job.yaml", "name: train\ncommand: [python, x.py]\ncpus: 2\n");
  EXPECT_EQ(call({"submit", "--name", "other", path}), 0);
  EXPECT_EQ(body().at("name"), "other");
  EXPECT_EQ(body().at("command"), (json::array{"python", "x.py"}));
}

TEST_F(VerbTest, after_last_is_looked_up) {
  daemon->answers["GET /v1/jobs/last"] = R"({"id":41})";
  daemon->answers["POST /v1/jobs"] = R"({"id":42,"ids":[42]})";
  EXPECT_EQ(call({"submit", "--after", "last:any,7", "--", "true"}), 0);
  EXPECT_EQ(body().at("after"), (json::array{"41:any", "7"}));
}

TEST_F(VerbTest, run_copies_both_streams_and_returns_the_jobs_code) {
  daemon->answers["POST /v1/jobs"] = R"({"id":12,"ids":[12]})";
  stream("/v1/jobs/12/stream?logs=1",
         {{"log", R"({"task":0,"attempt":1,"stream":"stdout","text":"hello\n"})"},
          {"log", R"({"task":0,"attempt":1,"stream":"stderr","text":{"base64":"/w=="}})"}},
         R"({"id":12,"state":"failed","exit_code":3,"ending":"exited"})");
  EXPECT_EQ(call({"run", "--", "x"}), 3);
  EXPECT_EQ(screen.out_text, "hello\n");
  EXPECT_EQ(screen.err_text, "\xff");
}

TEST_F(VerbTest, run_of_many_tasks_tells_which_failed_and_returns_the_jobs_code) {
  daemon->answers["POST /v1/jobs"] = R"({"id":12,"ids":[12]})";
  stream("/v1/jobs/12/stream", {},
         R"({"id":12,"state":"failed","tasks":3,"counts":{"succeeded":2,"failed":1},)"
         R"("exit_code":3})");
  daemon->answers["GET /v1/jobs/12/tasks?state=failed&limit=20"] =
      R"({"tasks":[{"task":2,"state":"failed","ending":"exited","exit_code":3,"command":"x"}]})";
  EXPECT_EQ(call({"run", "--array", "1-3", "--", "x"}), 3);
  EXPECT_EQ(screen.out_text, "Job 12: 3 tasks: 2 succeeded, 1 failed\n");
  EXPECT_THAT(screen.err_text, HasSubstr("2 failed (exit 3)"));
  screen.out_text.clear();
  EXPECT_EQ(call({"submit", "-q", "-f", "--array", "1-3", "--", "x"}), 3);
  EXPECT_EQ(screen.out_text, "12\n");
}

TEST_F(VerbTest, run_says_why_a_job_was_ended) {
  daemon->answers["POST /v1/jobs"] = R"({"id":12,"ids":[12]})";
  stream("/v1/jobs/12/stream?logs=1", {},
         R"({"id":12,"state":"failed","exit_code":124,"ending":"timeout","time_limit_s":5})");
  EXPECT_EQ(call({"run", "--time", "5", "--", "sleep", "9"}), 124);
  EXPECT_EQ(screen.err_text, "tutti: job 12 was ended: its time limit of 5s was over\n");
}

TEST_F(VerbTest, batch_reports_failed_lines_and_exits_with_1) {
  daemon->answers["POST /v1/jobs"] = R"({"id":7,"ids":[7]})";
  stream(
      "/v1/jobs/7/stream", {},
      R"({"id":7,"state":"failed","tasks":2,"counts":{"succeeded":1,"failed":1},"exit_code":3})");
  daemon->answers["GET /v1/jobs/7/tasks?state=failed&limit=20"] =
      R"({"tasks":[{"task":2,"line":4,"state":"failed","ending":"exited","exit_code":3,)"
      R"("command":"exit 3"}],"next_from":null})";
  const std::string path = file("b", "true\n# comment\n\nexit 3\n");
  EXPECT_EQ(call({"batch", path}), 1);
  EXPECT_EQ(body().at("lines"), (json::array{"true", "exit 3"}));
  EXPECT_EQ(body().at("line_numbers"), (json::array{1, 4}));
  EXPECT_EQ(screen.err_text, "line 4 (task 7.2) failed (exit 3): exit 3\n");
  EXPECT_EQ(screen.out_text, "Job 7: 2 tasks: 1 succeeded, 1 failed\n");
}

TEST_F(VerbTest, batch_detached_and_quiet_prints_only_the_id) {
  daemon->answers["POST /v1/jobs"] = R"({"id":7,"ids":[7]})";
  EXPECT_EQ(call({"batch", "--detach", "-q", "--each-line", "gzip {}", file("b", "a b\nc\n")}), 0);
  EXPECT_EQ(screen.out_text, "7\n");
  EXPECT_EQ(body().at("lines"), (json::array{"gzip 'a b'", "gzip c"}));
}

TEST_F(VerbTest, an_empty_batch_asks_nothing) {
  EXPECT_EQ(call({"batch", file("b", "# nothing\n")}), 0);
  EXPECT_TRUE(asked.requests.empty());
  EXPECT_EQ(call({"batch", folder + "/nowhere"}), 1);
  screen.err_text.clear();
  EXPECT_EQ(call({"batch", "--json", file("b", "")}), 0);
  EXPECT_EQ(screen.out_text, "{\"api\":1,\"id\":null,\"ids\":[],\"tasks\":0}\n");
  EXPECT_EQ(screen.err_text, "");
}

TEST_F(VerbTest, ls_shows_the_unfinished_and_the_newest_finished) {
  daemon->answers["GET /v1/jobs?limit=50&state=queued,starting,running"] =
      R"({"jobs":[{"id":9,"state":"running","tasks":1}],"next_before":null})";
  daemon->answers["GET /v1/jobs?limit=10&state=succeeded,failed,cancelled,skipped"] =
      R"({"jobs":[{"id":8,"state":"failed","tasks":1}],"next_before":null})";
  EXPECT_EQ(call({"ls", "-q"}), 0);
  EXPECT_EQ(screen.out_text, "9\n8\n");
  screen.out_text.clear();
  EXPECT_EQ(call({"queue"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("2 jobs: 1 running, 0 queued\n"));
}

TEST_F(VerbTest, ls_shows_a_job_once_that_ends_between_its_two_requests) {
  daemon->answers["GET /v1/jobs?limit=50&state=queued,starting,running"] =
      R"({"jobs":[{"id":9,"state":"running"},{"id":8,"state":"running"}],"next_before":null})";
  daemon->answers["GET /v1/jobs?limit=10&state=succeeded,failed,cancelled,skipped"] =
      R"({"jobs":[{"id":9,"state":"failed"},{"id":7,"state":"failed"}],"next_before":null})";
  EXPECT_EQ(call({"ls", "-q"}), 0);
  EXPECT_EQ(screen.out_text, "8\n9\n7\n");
}

TEST_F(VerbTest, ls_of_a_job_that_is_not_there_fails_and_of_a_task_is_a_usage_error) {
  daemon->answers["GET /v1/jobs?limit=1000&ids=99"] = R"({"jobs":[],"next_before":null})";
  EXPECT_EQ(call({"ls", "99"}), 1);
  daemon->answers["GET /v1/jobs?limit=1000&state=failed&ids=99"] = R"({"jobs":[]})";
  daemon->answers["GET /v1/jobs/99"] = R"({"id":99})";
  EXPECT_EQ(call({"ls", "--state", "failed", "99"}), 0);
  EXPECT_EQ(screen.out_text, "No jobs.\n");
  EXPECT_EQ(call({"ls", "99.1"}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("tutti show 99.1"));
}

TEST_F(VerbTest, ls_watch_draws_again_at_a_change_and_needs_a_terminal) {
  daemon->answers["GET /v1/jobs?limit=1"] = R"({"jobs":[{"id":9,"state":"running","tasks":1}]})";
  EXPECT_EQ(call({"ls", "-w"}), 2);
  screen.terminal = true;
  auto client = std::make_unique<InterruptedStream>(asked);
  client->answers = daemon->answers;
  session.use_client(std::move(client));
  EXPECT_EQ(call({"ls", "-w", "-n", "1"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("1 job: 1 running"));
}

TEST_F(VerbTest, ls_watch_is_cut_to_the_height_of_the_screen) {
  screen.terminal = true;
  screen.rows = 5;
  auto client = std::make_unique<InterruptedStream>(asked);
  client->answers["GET /v1/jobs?limit=3"] =
      R"({"jobs":[{"id":9,"state":"running"},{"id":8},{"id":7,"state":"queued"}]})";
  session.use_client(std::move(client));
  EXPECT_EQ(call({"ls", "-w", "-n", "3"}), 0);
  EXPECT_EQ(std::count(screen.out_text.begin(), screen.out_text.end(), '\n'), 4);
  EXPECT_THAT(screen.out_text, HasSubstr("... and 1 more"));
  EXPECT_THAT(screen.out_text, HasSubstr("3 jobs: 1 running, 1 queued"));
}

TEST_F(VerbTest, ls_refuses_an_unknown_state) {
  EXPECT_EQ(call({"ls", "--state", "runing"}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("did you mean 'running'?"));
  EXPECT_EQ(call({"ls", "--state", "bogus"}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("unknown state 'bogus'; there are: queued, starting"));
}

TEST_F(VerbTest, show_json_has_the_tasks_of_all_pages) {
  daemon->answers["GET /v1/jobs/3"] = R"({"id":3,"tasks":4})";
  const std::string tasks = "GET /v1/jobs/3/tasks?state=";
  daemon->answers[tasks + "failed&limit=1000"] = R"({"tasks":[{"task":2}],"next_from":4})";
  daemon->answers[tasks + "failed&limit=1000&from=4"] = R"({"tasks":[{"task":4}]})";
  daemon->answers[tasks + "running,starting&limit=1000"] = R"({"tasks":[]})";
  daemon->answers[tasks + "queued&limit=1000"] = R"({"tasks":[{"task":3}]})";
  daemon->answers[tasks + "cancelled,skipped,succeeded&limit=1000"] = R"({"tasks":[{"task":1}]})";
  EXPECT_EQ(call({"show", "--json", "3"}), 0);
  const json::value job = json::parse(screen.out_text);
  EXPECT_EQ(job.at("task_list").as_array().size(), 4u);
  EXPECT_EQ(job.at("more"), false);
  screen.out_text.clear();
  daemon->answers[tasks + "failed&limit=1"] = R"({"tasks":[{"task":2}],"next_from":4})";
  EXPECT_EQ(call({"show", "--json", "-n", "1", "3"}), 0);
  EXPECT_EQ(json::parse(screen.out_text).at("more"), true);
}

TEST_F(VerbTest, logs_copies_raw_bytes) {
  daemon->answers["GET /v1/jobs/3"] = R"({"id":3,"tasks":1})";
  daemon->answers["GET /v1/jobs/3/tasks?limit=1"] =
      R"({"tasks":[{"task":0,"attempt":1,"stdout":"/o","stderr":"/e"}]})";
  daemon->downloads["/v1/jobs/3/logs?stream=stdout&tail=5"] = "\x01\n";
  daemon->downloads["/v1/jobs/3/logs?stream=stderr&tail=5"] = "e";
  EXPECT_EQ(call({"logs", "3", "--tail", "5"}), 0);
  EXPECT_EQ(screen.out_text, "\x01\n");
  EXPECT_EQ(screen.err_text, "e");
}

TEST_F(VerbTest, logs_of_both_streams_in_one_file_are_copied_once) {
  daemon->answers["GET /v1/jobs/3"] = R"({"id":3,"tasks":1})";
  daemon->answers["GET /v1/jobs/3/tasks?limit=1"] =
      R"({"tasks":[{"task":0,"attempt":1,"stdout":"/so","stderr":"/so"}]})";
  for (const char* stream : {"stdout", "stderr"}) {
    daemon->downloads[std::string("/v1/jobs/3/logs?stream=") + stream] = "both\n";
  }
  EXPECT_EQ(call({"logs", "3"}), 0);
  EXPECT_EQ(screen.out_text + screen.err_text, "both\n");
  EXPECT_EQ(call({"logs", "--stderr", "3"}), 0);
  EXPECT_EQ(screen.err_text, "both\n");
}

TEST_F(VerbTest, logs_of_many_tasks_needs_a_choice) {
  daemon->answers["GET /v1/jobs/3"] = R"({"id":3,"tasks":100})";
  daemon->answers["GET /v1/jobs/3/tasks?limit=1"] = R"({"tasks":[{"task":5}]})";
  EXPECT_EQ(call({"logs", "3"}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("job 3 has 100 tasks: name one, such as 3.5, or"));
  daemon->answers["GET /v1/jobs/3/tasks?from=7&limit=1"] = R"({"tasks":[{"task":7}]})";
  daemon->downloads["/v1/jobs/3/logs?stream=stdout&task=7"] = "seven";
  EXPECT_EQ(call({"logs", "3.7", "--stdout"}), 0);
  EXPECT_EQ(screen.out_text, "seven");
}

TEST_F(VerbTest, logs_follow_returns_the_jobs_code) {
  daemon->answers["GET /v1/jobs/3"] = R"({"id":3,"tasks":1})";
  stream("/v1/jobs/3/stream?logs=1",
         {{"log", R"({"task":0,"attempt":1,"stream":"stdout","text":"last line"})"}},
         R"({"id":3,"state":"failed","exit_code":9,"ending":"exited"})");
  EXPECT_EQ(call({"logs", "-f", "3"}), 9);
  EXPECT_EQ(screen.out_text, "last line");
}

TEST_F(VerbTest, logs_with_json_are_objects_of_whole_characters) {
  daemon->answers["GET /v1/jobs/3"] = R"({"id":3,"tasks":1})";
  daemon->answers["GET /v1/jobs/3/tasks?limit=1"] = R"({"tasks":[{"task":0,"attempt":2}]})";
  daemon->downloads["/v1/jobs/3/logs?stream=stdout&attempt=2"] = "a\xc3";
  daemon->downloads["/v1/jobs/3/logs?stream=stderr&attempt=2"] = "";
  EXPECT_EQ(call({"logs", "--json", "3"}), 0);
  EXPECT_EQ(screen.out_text,
            R"({"api":1,"task":0,"attempt":2,"stream":"stdout","text":"a"})"
            "\n"
            R"({"api":1,"task":0,"attempt":2,"stream":"stdout","text":{"base64":"ww=="}})"
            "\n");
}

TEST_F(VerbTest, logs_followed_with_json_end_with_the_state) {
  daemon->answers["GET /v1/jobs/3"] = R"({"id":3,"tasks":1})";
  stream("/v1/jobs/3/stream?logs=1",
         {{"log", R"({"task":0,"attempt":1,"stream":"stdout","text":"hi"})"}},
         R"({"id":3,"state":"failed","exit_code":9,"ending":"exited"})");
  EXPECT_EQ(call({"logs", "-f", "--json", "3"}), 9);
  EXPECT_EQ(screen.out_text, R"({"api":1,"task":0,"attempt":1,"stream":"stdout","text":"hi"})"
                             "\n"
                             R"({"api":1,"id":3,"state":"failed","exit_code":9})"
                             "\n");
}

TEST_F(VerbTest, quiet_answers_are_one_word) {
  daemon->answers["GET /v1/jobs/3"] = R"({"id":3,"state":"queued","tasks":1})";
  daemon->answers["GET /v1/jobs/3/tasks?from=0&limit=1"] =
      R"({"tasks":[{"task":0,"state":"queued"}]})";
  daemon->answers["GET /v1/jobs/3/explain"] =
      R"({"job":3,"state":"queued","reasons":[{"code":"cpus","text":"too few"}]})";
  daemon->answers["GET /v1/jobs/4/explain"] = R"({"job":4,"state":"running","reasons":[]})";
  daemon->answers["GET /v1/nodes"] = R"({"nodes":[{"name":"a"},{"name":"b"}]})";
  for (const Words& words :
       {Words{"show", "-q", "3"}, Words{"show", "-q", "3.0"}, Words{"explain", "-q", "3"},
        Words{"why", "-q", "4"}, Words{"nodes", "-q"}}) {
    EXPECT_EQ(call(words), 0);
  }
  EXPECT_EQ(screen.out_text, "queued\nqueued\ncpus\nrunning\na\nb\n");
}

TEST_F(VerbTest, workers_are_a_gang_of_the_command) {
  daemon->answers["POST /v1/jobs"] = R"({"id":1,"ids":[1]})";
  const Words command = {"submit", "--workers", "4", "--cpus", "2", "--framework", "jax", "train"};
  EXPECT_EQ(call(command), 0);
  EXPECT_EQ(body().at("workers"), json::parse(R"([{"count":4}])"));
  EXPECT_EQ(body().at("framework"), "jax");
  EXPECT_EQ(body().at("cpus"), "2");
  const std::string plain = file("plain.yaml", "command: train\ncpus: 2\n");
  EXPECT_EQ(call({"submit", "--workers", "3", plain}), 0);
  EXPECT_EQ(body().at("workers"), json::parse(R"([{"count":3}])"));
  EXPECT_TRUE(body().as_object().contains("cpus"));
  const std::string gang = file("gang.yaml", "command: train\nworkers: 2\n");
  EXPECT_EQ(call({"submit", "--workers", "5", gang}), 0);
  EXPECT_EQ(body().at("workers").at(0).at("count"), 5);
}

TEST_F(VerbTest, workers_that_cannot_be_meant_are_usage_errors) {
  const std::string groups =
      file("groups.yaml", "command: train\nworkers: {A: {count: 1}, B: {count: 2}}\n");
  EXPECT_EQ(call({"submit", "--workers", "5", groups}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("several groups of workers"));
  EXPECT_EQ(call({"submit", "--workers", "0", "--", "train"}), 2);
  EXPECT_EQ(call({"submit", "--workers", "2", "--array", "1-2", "--", "train"}), 2);
}

TEST_F(VerbTest, cancelling_several_jobs_on_a_pipe_needs_yes) {
  daemon->answers["GET /v1/jobs?limit=2&before=7"] = R"({"jobs":[{"id":6},{"id":5}]})";
  EXPECT_EQ(call({"cancel", "3,5-6"}), 2);
  EXPECT_EQ(call({"cancel", "all"}), 2);
  EXPECT_THAT(asked.requests, Not(Contains("POST /v1/cancel")));
  daemon->answers["GET /v1/jobs?state=queued,starting,running&limit=1"] = R"({"jobs":[]})";
  EXPECT_EQ(call({"cancel", "all"}), 0);
  EXPECT_THAT(asked.requests, Not(Contains("POST /v1/cancel")));
  screen.out_text.clear();
  daemon->answers["POST /v1/cancel"] = R"({"tasks":4,"jobs":[3,5]})";
  EXPECT_EQ(call({"cancel", "-y", "3,5-6"}), 0);
  EXPECT_EQ(asked.last_body, R"({"jobs":[{"id":3},{"id":5},{"id":6}]})");
  EXPECT_EQ(screen.out_text, "Cancelled 4 tasks of 2 jobs.\n");
}

TEST_F(VerbTest, cancelling_several_jobs_on_a_terminal_asks) {
  screen.terminal = true;
  EXPECT_EQ(call({"cancel", "all"}), 1);
  EXPECT_THAT(asked.requests, Not(Contains("POST /v1/cancel")));
  screen.answer = "y";
  daemon->answers["POST /v1/cancel"] = R"({"tasks":4,"jobs":[3,5]})";
  EXPECT_EQ(call({"cancel", "all"}), 0);
  EXPECT_EQ(asked.last_body, R"({"all":true})");
}

TEST_F(VerbTest, one_task_is_cancelled_without_a_question) {
  daemon->answers["GET /v1/jobs/last"] = R"({"id":12})";
  daemon->answers["POST /v1/cancel"] = R"({"tasks":1,"jobs":[12]})";
  EXPECT_EQ(call({"cancel", "last.7"}), 0);
  EXPECT_EQ(asked.last_body, R"({"jobs":[{"id":12,"tasks":[7]}]})");
}

TEST_F(VerbTest, a_wrong_selector_is_a_usage_error) {
  for (const char* verb : {"cancel", "show", "logs", "why", "wait", "retry"}) {
    EXPECT_EQ(call({verb, "8-x"}), 2) << verb;
  }
  EXPECT_EQ(call({"show", "3,4"}), 2);
  EXPECT_EQ(call({"retry", "all"}), 2);
}

TEST_F(VerbTest, wait_returns_the_first_code_that_is_not_zero) {
  stream("/v1/jobs/1/stream", {}, R"({"id":1,"state":"succeeded","exit_code":0})");
  stream("/v1/jobs/2/stream", {}, R"({"id":2,"state":"failed","exit_code":5,"ending":"exited"})");
  stream("/v1/jobs/3/stream", {}, R"({"id":3,"state":"cancelled","exit_code":130})");
  daemon->answers["GET /v1/jobs?limit=3&before=4"] = R"({"jobs":[{"id":3},{"id":2},{"id":1}]})";
  EXPECT_EQ(call({"wait", "1"}), 0);
  EXPECT_EQ(call({"wait", "1-3"}), 5);
  EXPECT_EQ(call({"wait", "3"}), 130);
}

TEST_F(VerbTest, wait_tells_of_what_is_not_there_before_it_waits) {
  stream("/v1/jobs/5/stream", {}, R"({"id":5,"state":"succeeded","exit_code":0})");
  daemon->answers["GET /v1/jobs?limit=2&before=100000"] = R"({"jobs":[{"id":9},{"id":5}]})";
  EXPECT_EQ(call({"wait", "5,99999"}), 1);
  EXPECT_EQ(screen.err_text, "tutti wait: there is no job 99999\n");
  daemon->answers["GET /v1/jobs?limit=1&before=6"] = R"({"jobs":[{"id":5}]})";
  daemon->answers["GET /v1/jobs/5/tasks?from=1&limit=1"] = R"({"tasks":[{"task":1}]})";
  daemon->answers["GET /v1/jobs/5/tasks?from=7&limit=1"] = R"({"tasks":[{"task":8}]})";
  EXPECT_EQ(call({"wait", "5.1,5.7"}), 1);
  EXPECT_THAT(screen.err_text, HasSubstr("job 5 has no task 7\n"));
}

TEST_F(VerbTest, holes_of_a_range_are_passed_over_unless_nothing_is_left) {
  daemon->answers["GET /v1/jobs?limit=5&before=6"] = R"({"jobs":[{"id":4},{"id":2}]})";
  daemon->answers["GET /v1/jobs?limit=1&before=2"] = R"({"jobs":[]})";
  daemon->answers["POST /v1/cancel"] = R"({"tasks":2,"jobs":[2,4]})";
  EXPECT_EQ(call({"cancel", "-y", "1-5"}), 0);
  EXPECT_EQ(asked.last_body, R"({"jobs":[{"id":2},{"id":4}]})");
  daemon->answers["GET /v1/jobs?limit=4&before=6"] = R"({"jobs":[{"id":4},{"id":2}]})";
  EXPECT_EQ(call({"cancel", "-y", "1-5,3"}), 0);
  EXPECT_EQ(asked.last_body, R"({"jobs":[{"id":2},{"id":3},{"id":4}]})");
  daemon->answers["GET /v1/jobs?limit=2&before=10"] = R"({"jobs":[{"id":4},{"id":2}]})";
  EXPECT_EQ(call({"cancel", "-y", "8-9"}), 1);
  EXPECT_THAT(screen.err_text, HasSubstr("there is no job of '8-9'"));
  EXPECT_EQ(call({"show", "8-9"}), 2);
}

TEST_F(VerbTest, wait_for_one_task_returns_its_code_and_says_how_it_ended) {
  stream("/v1/jobs/4/stream?until=2", {}, R"({"id":4,"state":"running","tasks":3})");
  daemon->answers["GET /v1/jobs/4/tasks?from=2&limit=1"] =
      R"({"tasks":[{"task":2,"state":"failed","exit_code":137,"ending":"signalled","signal":9}]})";
  EXPECT_EQ(call({"wait", "4.2"}), 137);
  EXPECT_EQ(screen.err_text, "tutti: job 4.2 was ended by signal 9\n");
  EXPECT_EQ(call({"wait", "--json", "4.2"}), 137);
  EXPECT_EQ(json::parse(screen.out_text).at("jobs"),
            json::parse(R"([{"id":4,"task":2,"state":"failed","exit_code":137}])"));
}

TEST_F(VerbTest, following_the_output_of_one_task_ends_with_it) {
  stream("/v1/jobs/4/stream?until=2&logs=1&task=2",
         {{"log", R"({"task":2,"attempt":1,"stream":"stdout","text":"hi\n"})"}},
         R"({"id":4,"state":"running","tasks":3})");
  daemon->answers["GET /v1/jobs/4/tasks?from=2&limit=1"] =
      R"({"tasks":[{"task":2,"state":"failed","exit_code":3,"ending":"exited"}]})";
  EXPECT_EQ(call({"logs", "-f", "4.2"}), 3);
  EXPECT_EQ(screen.out_text, "hi\n");
}

TEST_F(VerbTest, retry_failed_names_only_the_failed_tasks) {
  daemon->answers["GET /v1/jobs/last"] = R"({"id":7})";
  daemon->answers["GET /v1/jobs/7/tasks?state=failed&limit=1000"] =
      R"({"tasks":[{"task":2},{"task":9}],"next_from":null})";
  daemon->answers["POST /v1/jobs/7/retry"] = R"({"tasks":2,"jobs":[7]})";
  EXPECT_EQ(call({"retry", "--failed", "last"}), 0);
  EXPECT_EQ(asked.last_body, R"({"tasks":[2,9]})");
  EXPECT_EQ(screen.out_text, "Queued 2 tasks of job 7 again.\n");
}

TEST_F(VerbTest, retry_failed_all_means_the_failed_jobs) {
  daemon->answers["GET /v1/jobs?state=failed&limit=1000"] = R"({"jobs":[{"id":9},{"id":7}]})";
  for (const std::string job : {"9", "7"}) {
    daemon->answers["GET /v1/jobs/" + job + "/tasks?state=failed&limit=1000"] =
        R"({"tasks":[{"task":0}]})";
    daemon->answers["POST /v1/jobs/" + job + "/retry"] = R"({"tasks":1})";
  }
  EXPECT_EQ(call({"retry", "--failed", "all"}), 0);
  EXPECT_EQ(screen.out_text, "Queued 1 task of job 9 again.\nQueued 1 task of job 7 again.\n");
}

TEST_F(VerbTest, cancel_and_retry_are_quiet_when_asked) {
  daemon->answers["POST /v1/cancel"] = R"({"tasks":1,"jobs":[3]})";
  daemon->answers["POST /v1/jobs/3/retry"] = R"({"tasks":1})";
  EXPECT_EQ(call({"cancel", "-q", "3"}), 0);
  EXPECT_EQ(call({"retry", "-q", "3"}), 0);
  EXPECT_EQ(call({"cancel", "-q", "--json", "3"}), 0);
  EXPECT_EQ(screen.out_text, "{\"api\":1,\"tasks\":1,\"jobs\":[3]}\n");
}

TEST_F(VerbTest, nodes_are_listed_and_drained) {
  daemon->answers["GET /v1/nodes"] =
      R"({"nodes":[{"name":"box","state":"up","cpus":8,"free_cpus":1.5,"memory_mib":20480,)"
      R"("free_memory_mib":1024,"labels":["fast"],"devices":[]}]})";
  EXPECT_EQ(call({"nodes"}), 0);
  EXPECT_EQ(screen.out_text,
            "NODE  STATE  CORES  FREE  MEMORY  FREE  GPUS  LABELS\n"
            "box   up         8   1.5     20G    1G     0  fast\n");
  daemon->answers["POST /v1/nodes/box/state"] = R"({"name":"box","state":"draining"})";
  EXPECT_EQ(call({"nodes", "drain", "box", "--reason", "disk"}), 0);
  EXPECT_EQ(asked.last_body, R"({"state":"draining","reason":"disk"})");
  EXPECT_EQ(call({"nodes", "drian", "box"}), 2);
  EXPECT_EQ(call({"nodes", "drain"}), 2);
}

TEST_F(VerbTest, an_error_of_the_daemon_is_a_failure_with_its_message) {
  daemon->answers["GET /v1/jobs/7/explain"] =
      R"({"error":{"code":"not_found","message":"there is no job 7"}})";
  EXPECT_EQ(call({"why", "7"}), 1);
  EXPECT_EQ(screen.err_text, "tutti explain: there is no job 7\n");
}

TEST_F(VerbTest, compat_makes_links_but_leaves_other_programs_alone) {
  namespace fs = std::filesystem;
  const fs::path place = folder + "/bin";
  EXPECT_EQ(call({"compat", "install", place.string()}), 0) << screen.err_text;
  EXPECT_EQ(call({"compat", "install", place.string()}), 0) << screen.err_text;
  EXPECT_TRUE(fs::equivalent(place / "execute_batch", "/proc/self/exe"));
  EXPECT_TRUE(fs::equivalent(place / "execute_remote", "/proc/self/exe"));
  fs::remove(place / "execute_remote");
  std::ofstream(place / "execute_remote") << "another";
  EXPECT_EQ(call({"compat", "install", place.string()}), 1);
  EXPECT_THAT(screen.err_text, HasSubstr("is not Tutti's"));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(place / "execute_remote")));
  EXPECT_EQ(call({"compat", "instal", place.string()}), 2);
  EXPECT_EQ(call({"compat"}), 2);
}

TEST_F(VerbTest, daemon_actions_are_checked) {
  EXPECT_EQ(call({"daemon"}), 2);
  EXPECT_EQ(call({"daemon", "--home", folder}), 2);
  EXPECT_EQ(call({"daemon", "strat", "--home", folder}), 2);
  EXPECT_EQ(call({"daemon", "run", "--home", folder, "--slots", "x"}), 2);
  EXPECT_EQ(call({"daemon", "run", "--home", folder, "--tls-cert", "x"}), 2);
}

TEST_F(VerbTest, daemon_run_gets_its_settings) {
  static DaemonArguments seen;
  entries.daemon_run = [](const DaemonArguments& arguments) {
    seen = arguments;
    return 0;
  };
  EXPECT_EQ(call({"daemon", "run", "--home", folder, "--slots", "4", "--mem", "2G"}), 0);
  EXPECT_EQ(seen.home, folder);
  EXPECT_EQ(seen.slots, 4);
  EXPECT_EQ(seen.memory_mib, 2048);
}

TEST_F(VerbTest, completions_know_three_shells) {
  EXPECT_EQ(call({"completions", "bash"}), 0);
  EXPECT_EQ(call({"completions", "tcsh"}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("unknown shell 'tcsh'; there are: bash, zsh, fish"));
}

}  // namespace
}  // namespace tutti
