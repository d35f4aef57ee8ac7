#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/dispatch.h"
#include "cli/testing/scripted_verbs.h"
#include "cli/verbs/verbs.h"

namespace tutti {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr const char* kOneGpu =
    R"({"source":"emulated","gpus":[{"index":0,"type":"A100-80G","memory_mib":81920,)"
    R"("emulated":true,"leases":[{"lease":13}]}]})";
constexpr const char* kTwoProfiles =
    R"({"profiles":[{"kind":"a.py","samples":3,"seconds_p50":1.5,"more":[1]},{"kind":"b.py"}]})";

// Somebody presses Ctrl-C while the daemon is asked.
class InterruptedClient : public FakeClient {
 public:
  using FakeClient::FakeClient;
  Result<json::value> request(std::string_view method, std::string_view target,
                              std::string_view body) override {
    ::raise(SIGINT);
    return FakeClient::request(method, target, body);
  }
};

class GpuVerbTest : public ScriptedVerbs {};

TEST_F(GpuVerbTest, gpus_prints_a_table_or_the_daemons_object) {
  daemon->answers["GET /v1/gpus"] = kOneGpu;
  EXPECT_EQ(call({"gpus"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("A100-80G (emulated)"));
  EXPECT_THAT(screen.out_text, HasSubstr("lease 13"));
  screen.out_text.clear();
  EXPECT_EQ(call({"gpus", "--json"}), 0);
  json::object object = json::parse(screen.out_text).as_object();
  EXPECT_EQ(object["api"], 1);
  object.erase("api");
  EXPECT_EQ(object, json::parse(kOneGpu).as_object());
}

TEST_F(GpuVerbTest, gpus_watch_needs_a_terminal_and_ends_with_ctrl_c) {
  EXPECT_EQ(call({"gpus", "-w"}), 2);
  screen.terminal = true;
  EXPECT_EQ(call({"gpus", "-w", "--json"}), 2);
  EXPECT_TRUE(asked.requests.empty());
  auto client = std::make_unique<InterruptedClient>(asked);
  client->answers["GET /v1/gpus"] = kOneGpu;
  session.use_client(std::move(client));
  EXPECT_EQ(call({"gpus", "--watch"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("\033[H\033[2J"));
  EXPECT_THAT(screen.out_text, HasSubstr("A100-80G"));
  EXPECT_THAT(asked.requests, ElementsAre("GET /v1/gpus"));
}

TEST_F(GpuVerbTest, profiles_are_listed_and_shown) {
  daemon->answers["GET /v1/profiles"] = kTwoProfiles;
  EXPECT_EQ(call({"profile"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("a.py     3  1.5s"));
  daemon->answers["GET /v1/profiles/x%2Fa.py%3A%3Af"] = R"({"kind":"x/a.py::f","samples":1})";
  EXPECT_EQ(call({"profile", "show", "x/a.py::f"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("Kind x/a.py::f\n"));
  screen.out_text.clear();
  EXPECT_EQ(call({"profile", "show", "--json", "x/a.py::f"}), 0);
  EXPECT_EQ(screen.out_text, "{\"api\":1,\"kind\":\"x/a.py::f\",\"samples\":1}\n");
}

TEST_F(GpuVerbTest, without_profiles_it_says_so) {
  daemon->answers["GET /v1/profiles"] = R"({"profiles":[]})";
  EXPECT_EQ(call({"profile", "ls"}), 0);
  EXPECT_EQ(screen.out_text, "No profiles: nothing was measured yet.\n");
}

TEST_F(GpuVerbTest, kinds_are_forgotten_until_one_is_unknown) {
  daemon->answers["DELETE /v1/profiles/a.py"] = R"({"kind":"a.py"})";
  daemon->answers["DELETE /v1/profiles/b.py"] =
      R"({"error":{"code":"not_found","message":"there is no profile of 'b.py'"}})";
  EXPECT_EQ(call({"profile", "forget", "a.py", "b.py", "c.py"}), 1);
  EXPECT_EQ(screen.out_text, "Forgot a.py.\n");
  EXPECT_EQ(screen.err_text, "tutti profile: there is no profile of 'b.py'\n");
  EXPECT_EQ(asked.requests.size(), 2u);
  screen.out_text.clear();
  EXPECT_EQ(call({"profile", "forget", "--json", "a.py"}), 0);
  EXPECT_EQ(screen.out_text, "{\"api\":1,\"forgotten\":[\"a.py\"]}\n");
}

TEST_F(GpuVerbTest, what_is_exported_is_what_is_imported) {
  daemon->answers["GET /v1/profiles"] = kTwoProfiles;
  daemon->answers["POST /v1/profiles"] = R"({})";
  const std::string path = folder + "/profiles.json";
  EXPECT_EQ(call({"profile", "export", path}), 0);
  EXPECT_EQ(screen.out_text, "Exported 2 profiles to " + path + ".\n");
  std::ifstream written(path);
  const std::string text((std::istreambuf_iterator<char>(written)), {});
  json::value expected = json::parse(kTwoProfiles);
  expected.as_object()["version"] = 1;
  EXPECT_EQ(json::parse(text), expected);
  screen.out_text.clear();
  EXPECT_EQ(call({"profile", "export"}), 0);
  EXPECT_EQ(screen.out_text, text);
  screen.out_text.clear();
  EXPECT_EQ(call({"profile", "import", path}), 0);
  EXPECT_EQ(json::parse(asked.last_body), expected);
  EXPECT_EQ(screen.out_text, "Imported 2 profiles.\n");
}

TEST_F(GpuVerbTest, an_export_with_json_can_be_imported_too) {
  daemon->answers["GET /v1/profiles"] = kTwoProfiles;
  daemon->answers["POST /v1/profiles"] = R"({})";
  EXPECT_EQ(call({"profile", "export", "--json"}), 0);
  EXPECT_EQ(call({"profile", "import", file("file", screen.out_text)}), 0);
  EXPECT_FALSE(json::parse(asked.last_body).as_object().contains("api"));
}

TEST_F(GpuVerbTest, a_file_that_holds_no_profiles_is_refused_unsent) {
  for (const char* text : {"", "{", "[]", R"({"profiles":[]})", R"({"version":1})",
                           R"({"version":2,"profiles":[]})", R"({"version":1,"profiles":{}})"}) {
    EXPECT_EQ(call({"profile", "import", file("file", text)}), 2) << text;
  }
  EXPECT_EQ(call({"profile", "import", folder + "/nowhere"}), 1);
  EXPECT_TRUE(asked.requests.empty());
}

TEST_F(GpuVerbTest, an_export_that_cannot_be_written_fails) {
  daemon->answers["GET /v1/profiles"] = kTwoProfiles;
  EXPECT_EQ(call({"profile", "export", folder + "/no/folder"}), 1);
  EXPECT_THAT(screen.err_text, HasSubstr("cannot write"));
  EXPECT_EQ(screen.out_text, "");
}

TEST_F(GpuVerbTest, the_words_of_profile_are_checked) {
  EXPECT_EQ(call({"profile", "shows", "x"}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("did you mean 'show'?"));
  for (const char* action : {"show", "forget", "import"}) {
    EXPECT_EQ(call({"profile", action}), 2) << action;
  }
  EXPECT_EQ(call({"profile", "ls", "x"}), 2);
  EXPECT_EQ(call({"profile", "show", "x", "y"}), 2);
  EXPECT_EQ(call({"profile", "export", "x", "y"}), 2);
  EXPECT_TRUE(asked.requests.empty());
}

TEST_F(GpuVerbTest, show_tells_a_single_tasks_gpus) {
  daemon->answers["GET /v1/jobs/3"] = R"({"id":3,"tasks":1,"state":"failed","gpus":1,)"
                                      R"("ending":"gpu_out_of_memory"})";
  daemon->answers["GET /v1/jobs/3/tasks?state=failed&limit=20"] =
      R"({"tasks":[{"task":0,"state":"failed","gpus":[{"index":1,"granted_mib":9600}],)"
      R"("gpu_peak_mib":9600,"oom_retries":1}]})";
  for (const char* states : {"running,starting", "queued", "cancelled,skipped,succeeded"}) {
    daemon->answers["GET /v1/jobs/3/tasks?state=" + std::string(states) + "&limit=19"] =
        R"({"tasks":[]})";
  }
  EXPECT_EQ(call({"show", "3"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("  result     ran out of GPU memory\n"));
  EXPECT_THAT(screen.out_text, HasSubstr("  GPUs       1 with 9.3G\n"));
  EXPECT_THAT(screen.out_text, HasSubstr("started again 1 time with more\n"));
}

TEST_F(GpuVerbTest, run_says_that_gpu_memory_ran_out) {
  daemon->answers["POST /v1/jobs"] = R"({"id":12,"ids":[12]})";
  daemon->streams["/v1/jobs/12/stream?logs=1"] = {
      {"end", R"({"id":12,"state":"failed","exit_code":1,"ending":"gpu_out_of_memory"})"}};
  EXPECT_EQ(call({"run", "--", "x"}), 1);
  EXPECT_EQ(screen.err_text, "tutti: job 12 ran out of GPU memory\n");
}

TEST_F(GpuVerbTest, nodes_say_which_gpus_they_have) {
  daemon->answers["GET /v1/nodes"] =
      R"({"nodes":[{"name":"box","state":"up","cpus":8,"free_cpus":8,"memory_mib":1024,)"
      R"("free_memory_mib":1024,"devices":[{"type":"A100-80G"},{"type":"A100-80G"}]}]})";
  EXPECT_EQ(call({"nodes"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("  2 × A100-80G\n"));
}

TEST_F(GpuVerbTest, the_daemon_gets_the_emulated_gpus_as_they_were_said) {
  static DaemonArguments seen;
  entries.daemon_run = [](const DaemonArguments& arguments) {
    seen = arguments;
    return 0;
  };
  EXPECT_EQ(call({"daemon", "run", "--home", folder, "--emulate-gpus", "4xA100-80G,1xT4"}), 0);
  EXPECT_EQ(seen.emulate_gpus, "4xA100-80G,1xT4");
  EXPECT_EQ(call({"daemon", "run", "--home", folder, "--emulate-gpus", ""}), 2);
  EXPECT_EQ(call({"daemon", "start", "--home", folder, "--emulate-gpus", "4xT4\n--slots"}), 2);
}

}  // namespace
}  // namespace tutti
