// How verbs that follow a job are left: by a signal, or because nobody reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include "cli/testing/scripted_verbs.h"

namespace tutti {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class LeavingVerbs : public ScriptedVerbs {};

TEST_F(LeavingVerbs, who_leaves_a_job_that_goes_on_gets_the_status_of_the_signal) {
  auto client = std::make_unique<InterruptedStream>(asked);
  InterruptedStream* const kept = client.get();
  client->answers["GET /v1/jobs/3"] = R"({"id":3,"tasks":2})";
  client->answers["POST /v1/jobs"] = R"({"id":3,"ids":[3]})";
  session.use_client(std::move(client));
  for (const int signal : {SIGINT, SIGTERM}) {
    kept->signal = signal;
    const int status = 128 + signal;
    EXPECT_EQ(call({"batch", file("lines", "true\nfalse\n")}), status);
    EXPECT_EQ(call({"submit", "-f", "--", "true"}), status);
    EXPECT_EQ(call({"submit", "-f", "--array", "1-2", "--", "true"}), status);
    EXPECT_EQ(call({"logs", "-f", "3"}), status);
    EXPECT_EQ(call({"wait", "3"}), status);
  }
  EXPECT_THAT(screen.err_text, HasSubstr("Job 3 goes on"));
}

TEST_F(LeavingVerbs, a_second_ctrl_c_says_that_the_job_is_being_ended) {
  auto client = std::make_unique<InterruptedStream>(asked);
  client->presses = 2;
  client->answers["POST /v1/jobs"] = R"({"id":3,"ids":[3]})";
  client->answers["POST /v1/cancel"] = R"({"jobs":[3],"tasks":1})";
  client->streams["/v1/jobs/3/stream?logs=1"] = {{"end", R"({"id":3,"state":"cancelled"})"}};
  session.use_client(std::move(client));
  EXPECT_EQ(call({"run", "--", "sleep", "9"}), 130);
  EXPECT_THAT(screen.err_text, HasSubstr("job 3 is being ended"));
  EXPECT_EQ(std::count(asked.requests.begin(), asked.requests.end(), "POST /v1/cancel"), 1);
}

TEST_F(LeavingVerbs, following_ends_when_nobody_reads_and_run_cancels_its_job) {
  daemon->answers["GET /v1/jobs/3"] = R"({"id":3,"tasks":1})";
  daemon->answers["POST /v1/jobs"] = R"({"id":3,"ids":[3]})";
  daemon->answers["POST /v1/cancel"] = R"({"jobs":[3],"tasks":1})";
  const ServerEvent piece{"log", R"({"task":0,"attempt":1,"stream":"stdout","text":"y\n"})"};
  stream("/v1/jobs/3/stream?logs=1", {piece, piece}, R"({"id":3,"state":"cancelled"})");
  screen.unread = true;
  EXPECT_EQ(call({"logs", "-f", "3"}), 141);
  EXPECT_EQ(screen.out_text, "y\n");
  EXPECT_EQ(call({"submit", "-f", "--", "yes"}), 141);
  EXPECT_THAT(asked.requests, Not(Contains("POST /v1/cancel")));
  EXPECT_EQ(call({"run", "--", "yes"}), 130);
  EXPECT_EQ(std::count(asked.requests.begin(), asked.requests.end(), "POST /v1/cancel"), 1);
}

TEST_F(LeavingVerbs, a_full_disk_ends_the_following_but_no_job) {
  daemon->answers["GET /v1/jobs/3"] = R"({"id":3,"tasks":1})";
  daemon->answers["POST /v1/jobs"] = R"({"id":3,"ids":[3]})";
  stream("/v1/jobs/3/stream?logs=1",
         {{"log", R"({"task":0,"attempt":1,"stream":"stdout","text":"y\n"})"}},
         R"({"id":3,"state":"succeeded"})");
  screen.full = true;
  EXPECT_EQ(call({"logs", "-f", "3"}), 1);
  EXPECT_EQ(call({"run", "--", "yes"}), 0);
  EXPECT_THAT(asked.requests, Not(Contains("POST /v1/cancel")));
}

}  // namespace
}  // namespace tutti
