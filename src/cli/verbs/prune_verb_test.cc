#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/testing/scripted_verbs.h"
#include "core/model/prune_age.h"
#include "core/spec/quantity.h"

namespace tutti {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PruneVerb : public ScriptedVerbs {
 protected:
  static constexpr const char* kDry = "POST /v1/prune?dry_run=1";
  static constexpr const char* kReal = "POST /v1/prune";

  PruneVerb() {
    daemon->answers[kDry] = daemon->answers[kReal] =
        R"({"dry_run":true,"jobs":[3,4],"tasks":1200,"files":5,"bytes":61000000,"stuck_files":0,)"
        R"("kept":{"unfinished":1,"needed":2,"recent":0}})";
    daemon->answers["GET /v1/jobs/last"] = R"({"id":9})";
  }
};

TEST_F(PruneVerb, without_yes_it_looks_first_and_asks_a_terminal) {
  screen.terminal = true;
  screen.answer = "n";
  EXPECT_EQ(call({"prune"}), 1);
  EXPECT_THAT(screen.err_text,
              HasSubstr("Forget 2 jobs (1,200 tasks) and 5 files (61 MB) for ever? [y/N] "));
  EXPECT_THAT(screen.err_text, HasSubstr("Nothing was forgotten."));
  EXPECT_THAT(asked.requests, ElementsAre(HasSubstr(kDry)));
  screen.answer = "y";
  EXPECT_EQ(call({"prune"}), 0);
  EXPECT_EQ(body(), boost::json::parse(R"({"all":true,"older_than_s":2592000})"));
  EXPECT_EQ(screen.out_text,
            "Forgot 2 jobs (1,200 tasks) and 5 files (61 MB).\n"
            "Kept: 1 job that has not ended, 2 jobs that jobs which have not ended need.\n");
}

TEST_F(PruneVerb, its_help_tells_the_age_that_is_meant_otherwise) {
  EXPECT_EQ(call({"prune", "--help"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr(" " + format_duration(kPruneAge) + ")\n"));
}

TEST_F(PruneVerb, a_pipe_is_refused_unless_there_is_nothing_to_forget) {
  EXPECT_EQ(call({"prune"}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("say so with -y, or see with --dry-run what goes"));
  daemon->answers[kDry] = R"({"jobs":[],"tasks":0,"files":0,"kept":{"recent":1}})";
  EXPECT_EQ(call({"prune", "--older-than", "90s"}), 0);
  EXPECT_EQ(screen.out_text, "Nothing to forget.\nKept: 1 job that ended in the last 1m30s.\n");
  EXPECT_EQ(call({"prune", "-q"}), 0);
  EXPECT_EQ(asked.bodies.count(kReal), 0u);
}

TEST_F(PruneVerb, selectors_and_ages_are_said_to_the_daemon) {
  daemon->answers["GET /v1/jobs?limit=2&before=5"] = R"({"jobs":[{"id":4},{"id":3}]})";
  EXPECT_EQ(call({"prune", "-y", "-q", "--older-than", "0", "1,3-4", "last"}), 0);
  EXPECT_EQ(body(), boost::json::parse(R"({"jobs":[1,3,4,9],"older_than_s":0})"));
  EXPECT_EQ(call({"prune", "-yq", "--older-than=1500ms", "all"}), 0);
  EXPECT_EQ(body(), boost::json::parse(R"({"all":true,"older_than_s":2})"));
  EXPECT_THAT(screen.out_text, IsEmpty());
}

TEST_F(PruneVerb, wrong_calls_are_refused_before_anything_is_asked) {
  EXPECT_EQ(call({"prune", "-y", "12.7"}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("12.7: a job is forgotten as a whole"));
  EXPECT_EQ(call({"prune", "-y", "--older-than", "soon"}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("older-than"));
  EXPECT_EQ(call({"prune", "-y", "nonsense"}), 2);
  EXPECT_THAT(asked.requests, IsEmpty());
}

TEST_F(PruneVerb, a_dry_run_needs_no_yes_and_json_is_the_daemons_answer) {
  EXPECT_EQ(call({"prune", "--dry-run"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("Would forget 2 jobs (1,200 tasks) and 5 files (61 MB)"));
  screen.out_text.clear();
  EXPECT_EQ(call({"prune", "-y", "--json"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr(R"("jobs":[3,4],"tasks":1200,"files":5)"));
  EXPECT_EQ(call({"prune", "--json"}), 2);
}

TEST_F(PruneVerb, files_that_could_not_be_removed_are_said) {
  daemon->answers[kReal] = R"({"jobs":[3],"tasks":1,"files":2,"bytes":0,"stuck_files":3})";
  EXPECT_EQ(call({"prune", "-y", "-q"}), 0);
  EXPECT_THAT(screen.err_text, HasSubstr("3 files could not be removed"));
}

}  // namespace
}  // namespace tutti
