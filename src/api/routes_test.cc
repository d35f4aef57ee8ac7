#include "api/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/testing/fake_services.h"
#include "wire/text_json.h"

namespace tutti {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::HasSubstr;

class RoutesTest : public testing::Test {
 protected:
  HttpResponse ask(std::string method, std::string target, std::string body = {}) {
    const Services services = world.services();
    int answers = 0;
    HttpResponse answer;
    const Threads threads{[](auto work) { work(); }, [](auto work) { work(); }};
    HttpRequest request{
        std::move(method), std::move(target), std::move(body), {"ann", "/home/ann"}};
    request.peer.here = !over_tcp;
    dispatch(services, threads, std::move(request), [&](HttpResponse response) {
      ++answers;
      answer = std::move(response);
    });
    EXPECT_EQ(answers, 1);
    return answer;
  }
  json::value json_of(const HttpResponse& response) {
    const auto value = parse_json(response.body);
    EXPECT_TRUE(value) << response.body;
    return value ? *value : json::value();
  }
  json::value get(std::string target) {
    const auto response = ask("GET", std::move(target));
    EXPECT_EQ(response.status, 200) << response.body;
    return json_of(response);
  }
  // "STATUS message" of an answer that is an error.
  std::string error_of(std::string method, std::string target, std::string body = {}) {
    const auto response = ask(std::move(method), std::move(target), std::move(body));
    return std::to_string(response.status) + " " + error_from_json(json_of(response)).message;
  }

  FakeWorld world;
  bool over_tcp = false;
};

TEST_F(RoutesTest, submitting_one_job_gives_its_id) {
  const auto response = ask("POST", "/v1/jobs", R"({"command":"echo hi","workdir":"/w"})");
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.body, "{\"id\":100,\"ids\":[100]}\n");
  ASSERT_EQ(world.front.submitted.size(), 1u);
  const JobSpec& spec = world.front.submitted[0];
  EXPECT_EQ(spec.user, "ann");
  EXPECT_EQ(spec.workdir, "/w");
  EXPECT_EQ(spec.name, "echo");
  EXPECT_FALSE(world.front.was_dry_run);
}

TEST_F(RoutesTest, a_job_without_place_and_environment_gets_those_of_its_user) {
  ask("POST", "/v1/jobs", R"({"command":"echo hi"})");
  ASSERT_EQ(world.front.submitted.size(), 1u);
  EXPECT_EQ(world.front.submitted[0].workdir, "/home/ann");
  EXPECT_THAT(world.front.submitted[0].env, testing::Contains(HasSubstr("PATH=")));
}

TEST_F(RoutesTest, a_job_with_a_snapshot_that_is_not_kept_is_refused) {
  EXPECT_THAT(error_of("POST", "/v1/jobs", R"({"command":"true","snapshot":"abc"})"),
              HasSubstr("400 snapshot 'abc': there is none"));
  EXPECT_TRUE(world.front.submitted.empty());
}

TEST_F(RoutesTest, a_filter_that_names_nothing_is_not_all) {
  for (const char* target : {"/v1/jobs?ids=", "/v1/jobs?state="})
    EXPECT_THAT(error_of("GET", target), HasSubstr("names nothing")) << target;
}

TEST_F(RoutesTest, several_jobs_are_one_submission) {
  const auto response = ask("POST", "/v1/jobs", R"({"jobs":[{"command":"a"},{"command":"b"}]})");
  EXPECT_EQ(response.body, "{\"id\":100,\"ids\":[100,101]}\n");
}

TEST_F(RoutesTest, speeds_are_read_added_and_forgotten) {
  const SpeedCell cell{{"bert", 1'300'000'000, 128}, {"a100", 1, 4}};
  world.front.known_speeds.set(cell, {2.5});
  EXPECT_EQ(ask("GET", "/v1/speeds").body,
            "{\"optimal\":{\"bert_1.3B_128\":{\"1_a100_1_n_4_d\":2.5}}}\n");
  EXPECT_EQ(
      ask("POST", "/v1/speeds", R"({"optimal":{"bert_1.3B_128":{"1_a100_1_n_4_d":-1}}})").body,
      "{\"imported\":1}\n");
  EXPECT_THAT(world.front.set_cells, ElementsAre(SpeedChange{cell, Speed{0}}));
  EXPECT_EQ(ask("DELETE", "/v1/speeds/bert").body, "{\"forgotten\":1}\n");
  EXPECT_THAT(world.front.set_cells, ElementsAre(SpeedChange{cell, std::nullopt}));
  EXPECT_THAT(error_of("DELETE", "/v1/speeds/gpt", ""), HasSubstr("404 no speed of model"));
  EXPECT_THAT(error_of("POST", "/v1/speeds", R"({"optimal":{"bert":{}}})"),
              HasSubstr("400 'bert' is not MODEL_SIZE_BATCH"));
}

TEST_F(RoutesTest, a_machine_is_added_with_what_was_said_of_it) {
  const auto response =
      ask("POST", "/v1/nodes",
          R"({"address":"ssh://ada@box1:22","name":"box","key":"/k","gpus":"0,2",)"
          R"("max_jobs":4,"labels":["fast"],"patience":"5m"})");
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(json_of(response).at("state"), "down");
  EXPECT_EQ(json_of(response).at("reason"), "connecting");
  EXPECT_EQ(json_of(response).at("address"), "ada@box1:22");
  const Node& node = world.front.added;
  EXPECT_EQ(node.remote, (Remote{"ada@box1:22", "/k", "0,2", seconds(300)}));
  EXPECT_EQ(node.max_jobs, 4u);
  EXPECT_THAT(node.labels, ElementsAre("fast", "pool"));
}

TEST_F(RoutesTest, a_machine_that_is_there_or_wrong_is_refused) {
  EXPECT_THAT(error_of("POST", "/v1/nodes", R"({"address":"x","name":"here"})"),
              HasSubstr("409 there is a node"));
  EXPECT_THAT(error_of("POST", "/v1/nodes", R"({"name":"x"})"), HasSubstr("400 a node needs"));
  EXPECT_THAT(error_of("POST", "/v1/nodes", R"({"address":"-oProxyCommand=x"})"),
              HasSubstr("dash"));
}

TEST_F(RoutesTest, a_machine_is_removed_limited_and_checked) {
  EXPECT_THAT(error_of("DELETE", "/v1/nodes/box"), HasSubstr("409 an attempt"));
  EXPECT_EQ(ask("DELETE", "/v1/nodes/box?force=true").status, 200);
  EXPECT_THAT(error_of("DELETE", "/v1/nodes/none?force=1"), HasSubstr("404 there is no node"));
  const auto limited = ask("POST", "/v1/nodes/box/limit", R"({"max_jobs":3})");
  EXPECT_EQ(json_of(limited).at("max_jobs"), 3);
  EXPECT_THAT(error_of("POST", "/v1/nodes/box/limit", "{}"), HasSubstr("400 a node's limit"));
  EXPECT_THAT(error_of("POST", "/v1/nodes/none/check"), HasSubstr("404 there is no node"));
  EXPECT_THAT(error_of("POST", "/v1/nodes/here/check"), HasSubstr("409 'here' is this machine"));
  world.front.here_is_elsewhere = true;
  EXPECT_EQ(ask("POST", "/v1/nodes/here/check").status, 202);
  EXPECT_THAT(world.machines.asked, ElementsAre(NodeId(1)));
}

TEST_F(RoutesTest, nodes_tell_what_was_measured_of_them) {
  EXPECT_TRUE(get("/v1/nodes").at("nodes").at(0).at("measured").is_null());
  world.machines.known[NodeId(1)] = {
      TimePoint(1000000), MilliCpu(24000), MilliCpu(2976),
      MiB(64000),         MiB(30607),      {{1, MiB(8000), MiB(500), MilliGpu(900), {}}}};
  const auto measured = get("/v1/nodes").at("nodes").at(0).at("measured");
  EXPECT_EQ(measured.at("busy_cpus"), 2.976);
  EXPECT_EQ(measured.at("available_mib"), 30607);
  EXPECT_EQ(measured.at("gpus").at(0).at("utilization"), 0.9);
}

TEST_F(RoutesTest, a_dry_run_explains_and_submits_nothing) {
  const auto response = ask("POST", "/v1/jobs?dry_run=1", R"({"command":"a","array":"5-7"})");
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(world.front.was_dry_run);
  const auto value = json_of(response);
  EXPECT_EQ(value.at("dry_run"), true);
  EXPECT_EQ(value.at("explanations").at(0).at("task"), 5);
  EXPECT_TRUE(value.at("explanations").at(0).at("job").is_null());
  const char* const two = R"({"jobs":[{"command":"a","array":"5-7"},{"lines":["a","b"]}]})";
  EXPECT_EQ(json_of(ask("POST", "/v1/jobs?dry_run=1", two)).at("tasks"), (json::array{3, 2}));
}

TEST_F(RoutesTest, bad_submissions_say_what_is_wrong) {
  EXPECT_THAT(error_of("POST", "/v1/jobs", "{"), HasSubstr("400 JSON"));
  EXPECT_THAT(error_of("POST", "/v1/jobs", R"({"comand":"a"})"), HasSubstr("'command'"));
  EXPECT_THAT(error_of("POST", "/v1/jobs", R"({"jobs":[{"command":"a"},{}]})"),
              HasSubstr("400 job 2: "));
  EXPECT_THAT(error_of("POST", "/v1/jobs", R"({"jobs":[]})"), HasSubstr("400 jobs must be"));
  EXPECT_THAT(error_of("POST", "/v1/jobs", R"({"jobs":[],"x":1})"), HasSubstr("unknown key 'x'"));
  EXPECT_THAT(error_of("POST", "/v1/jobs", R"({"command":"a","name":"x\ny"})"),
              HasSubstr("400 name has a newline"));
  EXPECT_THAT(error_of("POST", "/v1/jobs?dry_rum=1", "{}"), HasSubstr("did you mean 'dry_run'"));
  EXPECT_THAT(error_of("POST", "/v1/jobs?dry_run=maybe", "{}"), HasSubstr("dry_run="));
  EXPECT_TRUE(world.front.submitted.empty());
}

TEST_F(RoutesTest, errors_of_the_controller_become_their_status) {
  const std::pair<ErrorCode, int> cases[] = {
      {ErrorCode::kInvalidInput, 400}, {ErrorCode::kDenied, 403},
      {ErrorCode::kNotFound, 404},     {ErrorCode::kConflict, 409},
      {ErrorCode::kExhausted, 507},    {ErrorCode::kUnavailable, 503},
      {ErrorCode::kTimeout, 504},      {ErrorCode::kInternal, 500},
      {ErrorCode::kCorrupt, 500},      {ErrorCode::kIo, 500}};
  for (const auto& [code, status] : cases) {
    world.front.error = Error{code, "because"};
    const auto response = ask("POST", "/v1/jobs", R"({"command":"a"})");
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(error_from_json(json_of(response)).code, code);
  }
}

TEST_F(RoutesTest, jobs_are_listed_newest_first_page_by_page) {
  for (std::uint64_t id = 1; id <= 5; ++id) world.history.put(world.job(id));
  const auto first = get("/v1/jobs?limit=2");
  EXPECT_EQ(first.at("jobs").at(0).at("id"), 5);
  EXPECT_EQ(first.at("jobs").as_array().size(), 2u);
  EXPECT_EQ(first.at("next_before"), 4);
  const auto last = get("/v1/jobs?limit=3&before=4");
  EXPECT_EQ(last.at("jobs").as_array().size(), 3u);
  EXPECT_TRUE(last.at("next_before").is_null());
}

TEST_F(RoutesTest, filters_reach_the_history) {
  get("/v1/jobs?state=running,failed&user=bob&name=a%20b&ids=3,9&before=7&limit=9");
  const JobFilter& filter = world.history.last_filter;
  EXPECT_THAT(filter.states, ElementsAre(TaskState::kRunning, TaskState::kFailed));
  EXPECT_EQ(filter.user, "bob");
  EXPECT_EQ(filter.name, "a b");
  EXPECT_THAT(filter.ids, ElementsAre(JobId(3), JobId(9)));
  EXPECT_EQ(filter.before, JobId(7));
}

TEST_F(RoutesTest, bad_parameters_are_refused) {
  for (const char* query : {"limit=0", "limit=1001", "limit=x", "limit=-1", "state=runing", "ids=a",
                            "ids=0", "before=0", "colour=red", "user=a&user=b",
                            "limit=99999999999999999999", "name=%zz", "name=%a"}) {
    EXPECT_THAT(error_of("GET", std::string("/v1/jobs?") + query), HasSubstr("400 ")) << query;
  }
  EXPECT_THAT(error_of("GET", "/v1/jobs?state=runing"), HasSubstr("'running'"));
}

TEST_F(RoutesTest, a_job_is_shown_with_its_spec_but_not_its_environment) {
  world.events.nodes().set(NodeId(1), "here");
  auto job = world.job(3);
  set_state(job, TaskState::kFailed);
  world.history.put(job);
  const auto value = get("/v1/jobs/3");
  EXPECT_EQ(value.at("state"), "failed");
  EXPECT_EQ(value.at("exit_code"), 3);
  EXPECT_EQ(value.at("ending"), "exited");
  EXPECT_EQ(value.at("node"), "here");
  EXPECT_EQ(value.at("attempt"), 1);
  EXPECT_EQ(value.at("counts").at("failed"), 1);
  EXPECT_EQ(value.at("submitted_at"), "1970-01-01T00:00:01.000000Z");
  EXPECT_EQ(value.at("spec").at("command"), "echo hi");
  EXPECT_FALSE(value.at("spec").as_object().contains("env"));
  EXPECT_TRUE(value.at("copy").is_null());
  EXPECT_EQ(get("/v1/jobs/3?env=1").at("spec").at("env").at("SECRET"), "1");
}

TEST_F(RoutesTest, an_unfinished_job_has_no_exit_code) {
  world.history.put(world.job(3));
  EXPECT_TRUE(get("/v1/jobs/3").at("exit_code").is_null());
}

TEST_F(RoutesTest, the_last_job_is_found) {
  EXPECT_THAT(error_of("GET", "/v1/jobs/last"), HasSubstr("404 "));
  world.history.put(world.job(8));
  EXPECT_EQ(get("/v1/jobs/last").at("id"), 8);
}

TEST_F(RoutesTest, tasks_are_named_by_their_labels) {
  auto job = world.job(4, 5, TaskSet::Shape::kArray);
  set_state(job, TaskState::kRunning);
  world.history.put(job);
  world.log_folder = "/logs";
  const auto page = get("/v1/jobs/4/tasks?from=2&limit=2");
  EXPECT_EQ(page.at("tasks").at(0).at("task"), 2);
  EXPECT_EQ(page.at("tasks").at(1).at("task"), 3);
  EXPECT_EQ(page.at("next_from"), 4);
  EXPECT_EQ(page.at("tasks").at(0).at("stdout"), "/logs/0/4/2.out");
  EXPECT_TRUE(get("/v1/jobs/4/tasks?from=4").at("next_from").is_null());
}

TEST_F(RoutesTest, tasks_of_a_batch_have_their_line) {
  auto job = world.job(4, 3, TaskSet::Shape::kBatch);
  job.lines = {"echo a", "echo b", "echo c"};
  job.spec.line_numbers = {1, 5, 9};
  world.history.put(job);
  const auto page = get("/v1/jobs/4/tasks");
  EXPECT_EQ(page.at("tasks").at(1).at("line"), 5);
  EXPECT_EQ(page.at("tasks").at(1).at("command"), "echo b");
  EXPECT_TRUE(page.at("tasks").at(1).at("stdout").is_null());
}

TEST_F(RoutesTest, a_page_of_huge_lines_ends_early) {
  auto job = world.job(4, 40, TaskSet::Shape::kBatch);
  for (int i = 0; i < 40; ++i) job.lines.push_back(std::string(1 << 20, 'x'));
  world.history.put(job);
  const auto page = get("/v1/jobs/4/tasks?limit=40");
  EXPECT_LT(page.at("tasks").as_array().size(), 10u);
  const auto count = static_cast<std::int64_t>(page.at("tasks").as_array().size());
  EXPECT_EQ(page.at("next_from"), count + 1);
}

TEST_F(RoutesTest, an_unknown_task_is_named_with_those_that_exist) {
  world.history.put(world.job(12, 5, TaskSet::Shape::kArray));
  world.history.put(world.job(13));
  EXPECT_EQ(error_of("GET", "/v1/jobs/12/explain?task=7"),
            "404 job 12 has no task 7: its tasks are 1-5");
  EXPECT_EQ(error_of("GET", "/v1/jobs/13/logs?task=1"),
            "404 job 13 has no task 1: its only task is 0");
  EXPECT_THAT(error_of("GET", "/v1/jobs/12/tasks?from=x"), HasSubstr("400 "));
}

TEST_F(RoutesTest, explain_gives_reasons_in_words_and_numbers) {
  world.history.put(world.job(12, 5, TaskSet::Shape::kArray));
  const auto value = get("/v1/jobs/12/explain?task=3");
  EXPECT_EQ(world.front.explained_task, 2u);
  EXPECT_EQ(value.at("task"), 3);
  const auto& reason = value.at("reasons").at(0);
  EXPECT_EQ(reason.at("code"), reason_name(ReasonCode::kCpus));
  EXPECT_FALSE(reason.at("text").as_string().empty());
  EXPECT_EQ(reason.at("wanted"), 4000);
  get("/v1/jobs/12/explain");
  EXPECT_EQ(world.front.explained_task, Front::kAnyTask);
}

TEST_F(RoutesTest, cancel_takes_jobs_tasks_or_all) {
  world.history.put(world.job(12, 5, TaskSet::Shape::kArray));
  const auto response = ask("POST", "/v1/cancel", R"({"jobs":[{"id":3},{"id":12,"tasks":[1,5]}]})");
  EXPECT_EQ(response.body, "{\"tasks\":2,\"jobs\":[3]}\n");
  ASSERT_EQ(world.front.selected.size(), 2u);
  EXPECT_TRUE(world.front.selected[0].tasks.empty());
  EXPECT_THAT(world.front.selected[1].tasks, ElementsAre(0, 4));
  EXPECT_EQ(ask("POST", "/v1/cancel", R"({"all":true})").status, 200);
  EXPECT_TRUE(world.front.cancelled_all);
}

TEST_F(RoutesTest, vague_cancels_are_refused) {
  world.history.put(world.job(12, 5, TaskSet::Shape::kArray));
  for (const char* body :
       {"{}", R"({"all":false})", R"({"all":1})", R"({"jobs":[]})", R"({"jobs":[{}]})",
        R"({"jobs":[{"id":0}]})", R"({"jobs":[{"id":12,"tasks":[]}]})", R"({"jobs":[3]})",
        R"({"jobs":[{"id":12,"task":[1]}]})", R"({"all":true,"jobs":[{"id":3}]})", "[]", ""}) {
    EXPECT_THAT(error_of("POST", "/v1/cancel", body), HasSubstr("400 ")) << body;
  }
  EXPECT_THAT(error_of("POST", "/v1/cancel", R"({"jobs":[{"id":12,"tasks":[6]}]})"),
              HasSubstr("404 job 12 has no task 6"));
  EXPECT_TRUE(world.front.selected.empty());
  EXPECT_FALSE(world.front.cancelled_all);
}

TEST_F(RoutesTest, retry_is_for_the_named_tasks_or_all_that_failed) {
  world.history.put(world.job(12, 5, TaskSet::Shape::kArray));
  EXPECT_EQ(ask("POST", "/v1/jobs/12/retry").status, 200);
  EXPECT_TRUE(world.front.selected[0].tasks.empty());
  EXPECT_EQ(ask("POST", "/v1/jobs/12/retry", R"({"tasks":[2]})").status, 200);
  EXPECT_THAT(world.front.selected[0].tasks, ElementsAre(1));
  world.front.error = conflict("nothing to retry");
  EXPECT_EQ(error_of("POST", "/v1/jobs/12/retry"), "409 nothing to retry");
}

TEST_F(RoutesTest, status_joins_facts_and_live_numbers) {
  const auto value = get("/v1/status");
  EXPECT_EQ(value.at("version"), "1.2.3");
  EXPECT_EQ(value.at("api"), 1);
  EXPECT_EQ(value.at("pid"), 42);
  EXPECT_EQ(value.at("slots"), 2.5);
  EXPECT_EQ(value.at("tasks").at("running"), 1);
  EXPECT_EQ(value.at("jobs").at("succeeded"), 5);
  EXPECT_EQ(value.at("enforcement").at("mode"), "process group");
}

TEST_F(RoutesTest, nodes_are_shown_and_drained) {
  const auto node = get("/v1/nodes").at("nodes").at(0);
  EXPECT_EQ(node.at("name"), "here");
  EXPECT_EQ(node.at("free_cpus"), 6.5);
  EXPECT_EQ(node.at("devices").at(0).at("type"), "A100");
  const auto drained =
      json_of(ask("POST", "/v1/nodes/here/state", R"({"state":"draining","reason":"fan"})"));
  EXPECT_EQ(drained.at("state"), "draining");
  EXPECT_EQ(drained.at("reason"), "fan");
  EXPECT_THAT(error_of("POST", "/v1/nodes/gone/state", R"({"state":"up"})"), HasSubstr("404"));
  EXPECT_THAT(error_of("POST", "/v1/nodes/here/state", R"({"state":"down"})"), HasSubstr("400"));
  EXPECT_THAT(error_of("POST", "/v1/nodes/here/state", "{}"), HasSubstr("400"));
}

TEST_F(RoutesTest, a_snapshot_is_stored_when_nothing_is_missing) {
  const std::string sha(64, 'a');
  const std::string body = R"({"files":[{"path":"a","mode":420,"sha256":")" + sha +
                           R"("},{"path":"l","link":"a"},{"path":"d","mode":493}]})";
  const auto first = json_of(ask("POST", "/v1/snapshots", body));
  EXPECT_EQ(first.at("missing").at(0), json::string(sha));
  EXPECT_TRUE(first.at("digest").is_null());
  EXPECT_EQ(ask("PUT", "/v1/blobs/" + sha, "content").status, 201);
  const auto second = json_of(ask("POST", "/v1/snapshots", body));
  EXPECT_EQ(second.at("digest"), "digest-1");
  EXPECT_TRUE(second.at("missing").as_array().empty());
  ASSERT_EQ(world.snapshots.saved.size(), 3u);
  EXPECT_EQ(world.snapshots.saved[1].link_target, "a");
}

TEST_F(RoutesTest, blobs_are_named_by_a_digest_and_nothing_else) {
  for (const char* name : {"..%2f..%2fetc%2fpasswd", "..", "abc", "%00"}) {
    EXPECT_THAT(error_of("PUT", std::string("/v1/blobs/") + name, "x"), HasSubstr("400")) << name;
  }
  EXPECT_THAT(error_of("PUT", "/v1/blobs/" + std::string(64, 'A'), "x"), HasSubstr("400"));
  EXPECT_THAT(error_of("PUT", "/v1/blobs/../x", "x"), HasSubstr("404"));
  EXPECT_THAT(error_of("PUT", "/v1/blobs/" + std::string(64, 'a'), "wrong"), HasSubstr("400"));
  EXPECT_TRUE(world.snapshots.blobs.empty());
}

TEST_F(RoutesTest, bad_manifests_are_refused) {
  for (const char* body :
       {"{}", R"({"files":1})", R"({"files":[{}]})", R"({"files":[{"path":"a","mode":-1}]})",
        R"({"files":[{"path":"a","mode":4096000}]})", R"({"files":[{"path":"a","sha256":"x"}]})",
        R"({"files":[{"path":"a\u0000b","link":"x"}]})", R"({"files":[{"path":"a","link":""}]})",
        R"({"files":[{"path":"a","size":1}]})"}) {
    EXPECT_THAT(error_of("POST", "/v1/snapshots", body), HasSubstr("400 ")) << body;
  }
}

TEST_F(RoutesTest, stopping_answers_first) {
  EXPECT_EQ(ask("POST", "/v1/daemon/stop").status, 200);
  EXPECT_TRUE(world.stopped);
}

TEST_F(RoutesTest, unknown_paths_and_methods_are_told_apart) {
  EXPECT_THAT(error_of("GET", "/v2/jobs"), HasSubstr("404 "));
  EXPECT_THAT(error_of("GET", "/"), HasSubstr("404 "));
  EXPECT_THAT(error_of("GET", "/v1/jobs/x"), HasSubstr("400 "));
  EXPECT_THAT(error_of("GET", "/v1/jobs/0"), HasSubstr("400 "));
  EXPECT_THAT(error_of("GET", "/v1/jobs/77"), HasSubstr("404 "));
  EXPECT_THAT(error_of("GET", "no-slash"), HasSubstr("400 "));
  const auto response = ask("DELETE", "/v1/jobs");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.allow, "POST, GET");
  EXPECT_EQ(ask("DELETE", "/v1/jobs/last").allow, "GET");
}

TEST_F(RoutesTest, bodies_are_bounded_by_route) {
  EXPECT_EQ(body_limit("POST", "/v1/jobs"), 256u << 20);
  EXPECT_EQ(body_limit("POST", "/v1/jobs?dry_run=1"), 256u << 20);
  EXPECT_EQ(body_limit("PUT", "/v1/blobs/" + std::string(64, 'a')), 256u << 20);
  EXPECT_EQ(body_limit("POST", "/v1/blobs"), 64u << 20);
  EXPECT_EQ(body_limit("POST", "/v1/cancel"), 16u << 20);
  EXPECT_EQ(body_limit("GET", "/v1/status"), 1u << 20);
  EXPECT_EQ(body_limit("GET", "%"), 1u << 20);
}

TEST_F(RoutesTest, every_route_has_its_own_name) {
  std::map<std::string_view, int> names;
  for (const Route& route : routes()) ++names[route.name];
  for (const auto& [name, count] : names) EXPECT_EQ(count, 1) << name;
}

std::string seen(const std::string& path) {
  return R"({"path":")" + path +
         R"(","device":1,"inode":-2,"size":3,"modified":4,"changed":1799999999123456789})";
}

TEST_F(RoutesTest, files_of_the_daemons_machine_are_kept_and_their_digests_told) {
  const std::string body = R"({"files":[)" + seen("/here") + "," + seen("/there") + "]}";
  const auto answer = json_of(ask("POST", "/v1/blobs", body));
  EXPECT_EQ(answer.at("digests").at(0), json::string(std::string(64, 'c')));
  EXPECT_TRUE(answer.at("digests").at(1).is_null());
  const SeenFile wanted{"/here", 1, -2, 3, 4, 1799999999123456789};
  EXPECT_EQ(world.snapshots.kept, std::vector<SeenFile>{wanted});
  const std::string odd = R"({"files":[{"as_found":1,)" + seen("/here").substr(1) + "]}";
  EXPECT_THAT(error_of("POST", "/v1/blobs", odd), HasSubstr("400 file 1: as_found must be"));
  EXPECT_THAT(error_of("POST", "/v1/blobs", R"({"files":[)" + seen("/full") + "]}"),
              HasSubstr("cannot write"));
}

TEST_F(RoutesTest, copies_under_way_are_told_with_their_node) {
  world.machines.copied[NodeId(1)] = {{.back = false,
                                       .jobs = {JobId(7), JobId(9)},
                                       .bytes = 61,
                                       .total = 100,
                                       .elapsed = milliseconds(1500)},
                                      {.back = true, .jobs = {JobId(3)}, .bytes = 5}};
  const auto copies = get("/v1/nodes").at("nodes").at(0).at("transfers");
  EXPECT_EQ(json::serialize(copies),
            R"([{"direction":"to","jobs":[7,9],"bytes":61,"total_bytes":100,"seconds":1.5E0},)"
            R"({"direction":"from","jobs":[3],"bytes":5,"total_bytes":null,"seconds":0}])");
}

TEST_F(RoutesTest, files_are_read_for_nobody_who_comes_over_tcp) {
  over_tcp = true;
  const auto answer = json_of(ask("POST", "/v1/blobs", R"({"files":[)" + seen("/here") + "]}"));
  EXPECT_EQ(answer.at("digests"), json::array{json::value()});
  EXPECT_TRUE(world.snapshots.kept.empty());
}

TEST_F(RoutesTest, bad_lists_of_files_to_keep_are_refused) {
  std::string many = R"({"files":[)" + seen("/here");
  for (int i = 0; i < 4096; ++i) many += "," + seen("/here");
  for (const std::string& body :
       {std::string("{}"), std::string(R"({"files":1})"), std::string(R"({"files":["/here"]})"),
        std::string(R"({"files":[{"path":"/here"}]})"), many + "]}",
        R"({"files":[)" + seen("/here") + R"(],"more":1})"}) {
    EXPECT_THAT(error_of("POST", "/v1/blobs", body), HasSubstr("400 ")) << body.substr(0, 80);
  }
  EXPECT_TRUE(world.snapshots.kept.empty());
}

}  // namespace
}  // namespace tutti
