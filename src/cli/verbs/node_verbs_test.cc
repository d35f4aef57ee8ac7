#include <gmock/gmock.h>

#include <csignal>

#include "cli/testing/scripted_verbs.h"

namespace tutti {
namespace {

namespace json = boost::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kUpBox =
    R"({"name":"box1","address":"ada@box1","state":"up","reason":null,"cpus":24,"free_cpus":24,)"
    R"("memory_mib":128000,"free_memory_mib":128000,"labels":["pool"],"max_jobs":4,"jobs":1,)"
    R"("devices":[{"type":"A100-80G"},{"type":"A100-80G"}],)"
    R"("measured":{"at":"2027-01-15T07:59:30.000000Z","cpus":24,"busy_cpus":3.5,"memory_mib":128000,)"
    R"("available_mib":100000,"gpus":[{"index":0,"used_mib":1024,"memory_mib":81920,)"
    R"("utilization":0.5}]}})";

std::string down(const std::string& name, const std::string& reason) {
  return R"({"name":")" + name + R"(","address":")" + name + R"(","state":"down","reason":")" +
         reason + R"(","cpus":0,"memory_mib":0,"devices":[]})";
}

std::string nodes(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& node : list) text += (text.empty() ? "" : ",") + node;
  return R"({"nodes":[)" + text + "]}";
}

class NodeVerbs : public ScriptedVerbs {};

TEST_F(NodeVerbs, add_waits_until_the_machine_is_up_and_says_what_it_has) {
  daemon->answers["POST /v1/nodes"] = down("box1", "connecting");
  daemon->first_answers["GET /v1/nodes"] = {nodes({down("box1", "connecting")}),
                                            nodes({down("box1", "connecting")})};
  daemon->answers["GET /v1/nodes"] = nodes({kUpBox});
  EXPECT_EQ(call({"nodes", "add", "ada@box1"}), 0);
  EXPECT_EQ(screen.out_text, "box1  24 cpus, 125 GiB, 2 × A100-80G\n");
  EXPECT_EQ(body(), (json::object{{"address", "ada@box1"}, {"name", "box1"}}));
}

TEST_F(NodeVerbs, add_sends_what_the_options_say) {
  const std::string key = file("id_test", "key");
  daemon->answers["POST /v1/nodes"] = kUpBox;
  daemon->answers["GET /v1/nodes"] = nodes({kUpBox});
  EXPECT_EQ(call({"nodes", "add", "box:2222", "--name", "box1", "--key", key, "--gpus", "0,2",
                  "--max-jobs", "4", "--label", "lab", "--labels", "fast,big", "--patience", "5m"}),
            0);
  EXPECT_EQ(body(), (json::object{{"address", "box:2222"},
                                  {"name", "box1"},
                                  {"key", key},
                                  {"gpus", "0,2"},
                                  {"max_jobs", 4},
                                  {"patience", "5m"},
                                  {"labels", json::array{"lab", "fast", "big"}}}));
}

TEST_F(NodeVerbs, a_machine_that_cannot_be_reached_is_not_kept) {
  daemon->answers["POST /v1/nodes"] = down("box2", "connecting");
  daemon->answers["GET /v1/nodes"] =
      nodes({down("box2", "ada@box2: Permission denied (publickey)")});
  daemon->answers["DELETE /v1/nodes/box2?force=true"] = "{}";
  EXPECT_EQ(call({"nodes", "add", "box2"}), 1);
  EXPECT_EQ(screen.err_text, "tutti nodes: box2: ada@box2: Permission denied (publickey)\n");
  EXPECT_THAT(asked.requests, Contains("DELETE /v1/nodes/box2?force=true"));
}

TEST_F(NodeVerbs, a_machine_that_cannot_be_reached_is_kept_if_asked_for) {
  daemon->answers["POST /v1/nodes"] = down("box2", "connecting");
  daemon->answers["GET /v1/nodes"] = nodes({down("box2", "no route to host")});
  EXPECT_EQ(call({"nodes", "add", "box2", "--keep"}), 1);
  EXPECT_THAT(screen.err_text, HasSubstr("box2 is kept"));
  EXPECT_THAT(asked.requests, Not(Contains("DELETE /v1/nodes/box2?force=true")));
}

TEST_F(NodeVerbs, several_machines_are_added_before_any_is_waited_for) {
  daemon->answers["POST /v1/nodes"] = down("x", "connecting");
  daemon->answers["GET /v1/nodes"] = nodes({kUpBox, down("box2", "no route to host")});
  daemon->answers["DELETE /v1/nodes/box2?force=true"] = "{}";
  EXPECT_EQ(call({"nodes", "add", "box[1-2]"}), 1);
  EXPECT_THAT(asked.requests, ElementsAre("POST /v1/nodes", "POST /v1/nodes", "GET /v1/nodes",
                                          "DELETE /v1/nodes/box2?force=true"));
  EXPECT_EQ(screen.out_text, "box1  24 cpus, 125 GiB, 2 × A100-80G\n");
  EXPECT_EQ(screen.err_text, "tutti nodes: box2: no route to host\n");
}

TEST_F(NodeVerbs, a_name_that_is_taken_is_an_error_and_stays) {
  daemon->answers["POST /v1/nodes"] =
      R"({"error":{"code":"conflict","message":"there is a node 'box1' already"}})";
  daemon->answers["GET /v1/nodes"] = nodes({kUpBox});
  EXPECT_EQ(call({"nodes", "add", "box1"}), 1);
  EXPECT_EQ(screen.err_text, "tutti nodes: box1: there is a node 'box1' already\n");
  EXPECT_THAT(asked.requests, ElementsAre("POST /v1/nodes", "GET /v1/nodes"));
}

TEST_F(NodeVerbs, add_with_json_tells_nodes_and_failures) {
  daemon->answers["POST /v1/nodes"] = down("x", "connecting");
  daemon->answers["GET /v1/nodes"] = nodes({kUpBox, down("box2", "no route")});
  daemon->answers["DELETE /v1/nodes/box2?force=true"] = "{}";
  EXPECT_EQ(call({"nodes", "add", "--json", "box1", "box2"}), 1);
  const json::value answer = json::parse(screen.out_text);
  EXPECT_EQ(answer.at("nodes").at(0).at("name"), "box1");
  EXPECT_EQ(answer.at("failed").at(0).at("name"), "box2");
  EXPECT_EQ(answer.at("failed").at(0).at("error").at("message"), "no route");
}

TEST_F(NodeVerbs, ctrl_c_while_adding_leaves_no_node_behind) {
  class Interrupted : public FakeClient {
   public:
    using FakeClient::FakeClient;
    Result<json::value> request(std::string_view method, std::string_view target,
                                std::string_view text) override {
      if (method == "GET") ::raise(SIGINT);
      return FakeClient::request(method, target, text);
    }
  };
  auto client = std::make_unique<Interrupted>(asked);
  client->answers["POST /v1/nodes"] = down("box2", "connecting");
  client->answers["GET /v1/nodes"] = nodes({down("box2", "connecting")});
  client->answers["DELETE /v1/nodes/box2?force=true"] = "{}";
  session.use_client(std::move(client));
  EXPECT_EQ(call({"nodes", "add", "box2"}), 1);
  EXPECT_THAT(asked.requests, Contains("DELETE /v1/nodes/box2?force=true"));
}

TEST_F(NodeVerbs, a_machine_file_gives_address_key_and_name) {
  const std::string key = file("id_test", "key");
  const std::string path =
      file("machine.yaml", "username: ben\nip: 10.0.0.7\nport: 22\nssh_key_path: " + key + "\n");
  daemon->answers["POST /v1/nodes"] = kUpBox;
  daemon->answers["GET /v1/nodes"] = nodes({kUpBox});
  call({"nodes", "add", path});
  EXPECT_EQ(body(),
            (json::object{{"address", "ben@10.0.0.7:22"}, {"name", "machine"}, {"key", key}}));
}

TEST_F(NodeVerbs, what_is_wrong_is_said_before_the_daemon_is_asked) {
  EXPECT_EQ(call({"nodes", "add"}), 2);
  EXPECT_EQ(call({"nodes", "add", "--", "-oProxyCommand=reboot"}), 2);
  EXPECT_EQ(call({"nodes", "add", "a", "b", "--name", "c"}), 2);
  EXPECT_EQ(call({"nodes", "add", "box", "--max-jobs", "0"}), 2);
  EXPECT_EQ(call({"nodes", "add", "box", "--patience", "soon"}), 2);
  EXPECT_EQ(call({"nodes", "add", "box", "--key", folder + "/none"}), 1);
  EXPECT_EQ(call({"nodes", "add", folder + "/none.yaml"}), 1);
  EXPECT_EQ(call({"nodes", "rm"}), 2);
  EXPECT_EQ(call({"nodes", "show", "a", "b"}), 2);
  EXPECT_EQ(call({"nodes", "drain", "a", "b"}), 2);
  EXPECT_EQ(call({"nodes", "ls", "box"}), 2);
  EXPECT_TRUE(asked.requests.empty());
}

TEST_F(NodeVerbs, machines_elsewhere_show_their_address_jobs_and_when_they_were_seen) {
  std::string gone = down("box2", "cut off");
  gone.insert(gone.size() - 1, R"(,"measured":{"at":"2027-01-15T07:57:00.000000Z"})");
  daemon->answers["GET /v1/nodes"] = nodes({kUpBox, gone});
  EXPECT_EQ(call({"nodes"}), 0);
  EXPECT_EQ(
      screen.out_text,
      "NODE  STATE  CORES  FREE  MEMORY  FREE          GPUS  JOBS  SEEN     LABELS  ADDRESS\n"
      "box1  up        24    24    125G  125G  2 × A100-80G   1/4  30s ago  pool    ada@box1\n"
      "box2  down       0     0       -     -             0     0  3m ago   -       box2\n"
      "\n"
      "box2 is down: cut off\n");
}

TEST_F(NodeVerbs, show_tells_what_was_measured) {
  daemon->answers["GET /v1/nodes"] = nodes({kUpBox});
  EXPECT_EQ(call({"nodes", "show", "box1"}), 0);
  EXPECT_EQ(screen.out_text,
            "Node box1\n"
            "  state      up\n"
            "  address    ada@box1\n"
            "  size       24 cpus, 125 GiB, 2 × A100-80G\n"
            "  free       24 cores, 125G memory\n"
            "  jobs       1 of at most 4\n"
            "  labels     pool\n"
            "  measured   30s ago\n"
            "  busy       3.5 of 24 cores\n"
            "  available  97.6G of 125G memory\n"
            "  GPU 0      1G of 80G used, 50% busy\n");
  EXPECT_EQ(call({"nodes", "show", "box9"}), 1);
}

TEST_F(NodeVerbs, check_waits_for_a_newer_measurement) {
  std::string newer = kUpBox;
  newer.replace(newer.find("07:59:30"), 8, "08:00:00");
  daemon->first_answers["GET /v1/nodes"] = {nodes({kUpBox}), nodes({kUpBox})};
  daemon->answers["GET /v1/nodes"] = nodes({newer});
  daemon->answers["POST /v1/nodes/box1/check"] = "{}";
  EXPECT_EQ(call({"nodes", "check", "box1"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("measured   now"));
}

TEST_F(NodeVerbs, check_of_a_node_that_is_down_fails_with_its_reason) {
  daemon->answers["GET /v1/nodes"] = nodes({down("box2", "no route to host")});
  daemon->answers["POST /v1/nodes/box2/check"] = "{}";
  EXPECT_EQ(call({"nodes", "check", "box2"}), 1);
  EXPECT_THAT(screen.out_text, HasSubstr("down: no route to host"));
}

TEST_F(NodeVerbs, limit_sets_how_many_jobs_run_there) {
  daemon->answers["POST /v1/nodes/box1/limit"] = kUpBox;
  EXPECT_EQ(call({"nodes", "limit", "box1", "--max-jobs", "4"}), 0);
  EXPECT_EQ(asked.last_body, R"({"max_jobs":4})");
  EXPECT_EQ(screen.out_text, "Node box1 runs at most 4 jobs at once.\n");
  EXPECT_EQ(call({"nodes", "limit", "box1"}), 2);
}

TEST_F(NodeVerbs, rm_removes_each_and_force_is_passed_on) {
  daemon->answers["DELETE /v1/nodes/box1"] = "{}";
  daemon->answers["DELETE /v1/nodes/box2"] = "{}";
  EXPECT_EQ(call({"nodes", "rm", "box1", "box2"}), 0);
  EXPECT_EQ(screen.out_text, "Removed node box1.\nRemoved node box2.\n");
  daemon->answers["DELETE /v1/nodes/box1?force=true"] = "{}";
  EXPECT_EQ(call({"nodes", "rm", "--force", "box1"}), 0);
}

TEST_F(NodeVerbs, on_is_a_label_and_sends_only_the_variables_that_were_set) {
  daemon->answers["POST /v1/jobs"] = R"({"id":1,"ids":[1]})";
  EXPECT_EQ(call({"submit", "--on", "box1,box2", "--no-copy", "--env", "A=1", "--results", "out",
                  "--results", "a,b", "--results-to", "/r/%j", "--", "true"}),
            0);
  EXPECT_EQ(body().at("labels"), json::array{"box1|box2"});
  EXPECT_EQ(body().at("remote_env"), json::array{"A=1"});
  EXPECT_EQ(body().at("results"),
            (json::object{{"folder", "/r/%j"}, {"paths", json::array{"out", "a", "b"}}}));
  EXPECT_EQ(call({"submit", "--on", "a b", "--", "true"}), 2);
}

TEST_F(NodeVerbs, on_copies_the_work_directory) {
  file("here/code.py", "x");
  daemon->answers["POST /v1/jobs"] = R"({"id":1,"ids":[1]})";
  daemon->answers["GET /v1/status"] = R"({"home":"/nowhere"})";
  daemon->answers["POST /v1/snapshots"] = R"({"digest":"abc","missing":[]})";
  EXPECT_EQ(call({"submit", "--on", "pool", "-C", folder + "/here", "--", "true"}), 0);
  EXPECT_EQ(body().at("snapshot"), "abc");
}

TEST_F(NodeVerbs, options_for_other_machines_need_one) {
  file("commands.txt", "true\n");
  file("job.yaml", "command: 'true'\nresults: [out]\n");
  file("job.sh", "#!/bin/sh\n#TUTTI --no-copy\ntrue\n");
  const std::vector<Words> calls = {{"submit", "--results", "out", "true"},
                                    {"run", "--results-to", "/r", "true"},
                                    {"submit", "--no-copy", "true"},
                                    {"submit", folder + "/job.yaml"},
                                    {"batch", "--no-copy", folder + "/commands.txt"},
                                    {"submit", folder + "/job.sh"}};
  for (const Words& words : calls) {
    screen.err_text.clear();
    EXPECT_EQ(call(words), 2) << words[1];
    EXPECT_THAT(screen.err_text, HasSubstr("needs --on")) << words[1];
  }
  EXPECT_TRUE(asked.requests.empty());
}

TEST_F(NodeVerbs, no_copy_wins_over_a_script_and_a_job_file) {
  daemon->answers["POST /v1/jobs"] = R"({"id":1,"ids":[1]})";
  file("job.sh", "#!/bin/sh\n#TUTTI --on pool\ntrue\n");
  file("job.yaml", "command: 'true'\non: pool\n");
  for (const char* name : {"/job.sh", "/job.yaml"}) {
    EXPECT_EQ(call({"submit", "--no-copy", folder + name}), 0) << screen.err_text;
    EXPECT_FALSE(body().as_object().contains("snapshot")) << name;
  }
}

TEST_F(NodeVerbs, results_of_several_tasks_have_a_folder_each) {
  daemon->answers["POST /v1/jobs"] = R"({"id":1,"ids":[1]})";
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(call({"submit", "--on", "a", "--no-copy", "--results", ".", "--array", "1-3", "true"}),
            0);
  EXPECT_EQ(body().at("results").at("folder").as_string(), here + "/results/%j.%t");
}

}  // namespace
}  // namespace tutti
