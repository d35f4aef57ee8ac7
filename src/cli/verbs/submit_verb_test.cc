// What `submit` makes of job files.
#include <gmock/gmock.h>

#include "cli/testing/scripted_verbs.h"

namespace tutti {
namespace {

using testing::HasSubstr;

class SubmitVerb : public ScriptedVerbs {};

TEST_F(SubmitVerb, a_fault_of_a_field_names_its_line) {
  const std::string path = file("job.yaml", "command: x\noutput: \"%q\"\nworkdir: /nowhere\n");
  EXPECT_EQ(call({"submit", "-C", folder, path}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("job.yaml:2: output: pattern '%q'"));
  EXPECT_EQ(call({"submit", path}), 1);
  EXPECT_THAT(screen.err_text, HasSubstr("job.yaml:3: workdir: "));
}

TEST_F(SubmitVerb, a_fault_of_the_command_line_names_no_field_of_the_file) {
  const std::string path = file("job.yaml", "command: x\noutput: fine\n");
  EXPECT_EQ(call({"submit", "-o", "%q", path}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("job.yaml:1: output: pattern '%q'"));
}

TEST_F(SubmitVerb, a_job_file_may_ask_for_a_clean_environment_and_no_copy) {
  daemon->answers["POST /v1/jobs"] = R"({"id":1,"ids":[1]})";
  ::setenv("OF_THIS_TEST", "1", 1);
  const std::string path =
      file("job.yaml", "command: x\non: box\nclean_env: true\nno_copy: true\nworkdir: .\n");
  EXPECT_EQ(call({"submit", path}), 0);
  ::unsetenv("OF_THIS_TEST");
  EXPECT_EQ(boost::json::serialize(body().at("env")).find("OF_THIS_TEST"), std::string::npos);
  EXPECT_FALSE(body().as_object().contains("snapshot"));
  EXPECT_EQ(call({"submit", file("here.yaml", "command: x\nno_copy: true\n")}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("--no-copy needs --on"));
}

TEST_F(SubmitVerb, a_dry_run_tells_how_many_tasks_there_would_be) {
  daemon->answers["POST /v1/jobs?dry_run=1"] =
      R"({"dry_run":true,"tasks":[1200],"explanations":[]})";
  EXPECT_EQ(call({"submit", "--dry-run", "--array", "1-1200", "--", "true"}), 0);
  EXPECT_EQ(screen.out_text, "Nothing was submitted.\nThe job would have 1,200 tasks.\n");
  daemon->answers["POST /v1/jobs?dry_run=1"] =
      R"({"dry_run":true,"tasks":[1,3],"explanations":[]})";
  const std::string two = file("two.yaml", "jobs:\n- command: a\n- command: b\n  array: 1-3\n");
  EXPECT_EQ(call({"submit", "--dry-run", two}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("submitted.\nJob 2 of them would have 3 tasks.\n"));
}

TEST_F(SubmitVerb, follow_ends_with_the_state_as_logs_does) {
  daemon->answers["POST /v1/jobs"] = R"({"id":3,"ids":[3]})";
  stream("/v1/jobs/3/stream?logs=1", {},
         R"({"id":3,"state":"failed","exit_code":5,"ending":"exited"})");
  EXPECT_EQ(call({"submit", "-f", "--json", "--", "x"}), 5);
  EXPECT_THAT(screen.out_text,
              HasSubstr("{\"api\":1,\"id\":3,\"state\":\"failed\",\"exit_code\":5}\n"));
}

}  // namespace
}  // namespace tutti
