#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>

#include "cli/arguments.h"
#include "cli/dispatch.h"
#include "cli/testing/scripted_verbs.h"
#include "cli/verbs/profile_run.h"
#include "cli/verbs/verbs.h"

namespace tutti {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char* kSpeeds =
    R"({"optimal":{"bert_1.3B_128":{"1_a100_1_n_2_d":5.5,"1_a100_1_n_4_d":3,"1_v100_1_n_4_d":-1}}})";

class PlanVerbTest : public ScriptedVerbs {};

TEST_F(PlanVerbTest, plan_needs_model_size_and_batch) {
  EXPECT_EQ(call({"plan", "--model", "bert", "--params", "1B"}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("--batch is missing"));
  EXPECT_EQ(call({"plan", "-m", "bert", "-p", "x", "-b", "1"}), 2);
  EXPECT_TRUE(asked.requests.empty());
}

TEST_F(PlanVerbTest, plan_of_a_file_asks_no_daemon) {
  const std::string path = file("speeds.json", kSpeeds);
  EXPECT_EQ(call({"plan", "-m", "bert", "-p", "1.3B", "-b", "128", "--file", path}), 0);
  EXPECT_TRUE(asked.requests.empty());
  EXPECT_THAT(screen.out_text, HasSubstr("bert with 1.3B parameters, batch 128"));
  EXPECT_THAT(screen.out_text, HasSubstr("does not fit"));
  EXPECT_THAT(screen.out_text,
              HasSubstr("Taken: 4 × a100: 3s an iteration (measured), the shortest of 2 that fit. "
                        "2 × a100 would cost 8% less and take 1.8 times as long."));
}

TEST_F(PlanVerbTest, plan_as_json_has_every_cell) {
  const std::string path = file("speeds.json", kSpeeds);
  EXPECT_EQ(call({"plan", "-m", "bert", "-p", "1.3B", "-b", "128", "--file", path, "--gpus",
                  "2x4xa100,1xH100", "--json"}),
            0);
  const auto plan = boost::json::parse(screen.out_text);
  const auto& cells = plan.at("cells").as_array();
  ASSERT_EQ(cells.size(), 5u);  // a100: 1, 2, 4 of a node, two nodes; H100
  EXPECT_EQ(cells[2].at("seconds"), 3);
  EXPECT_EQ(cells[2].at("measured"), true);
  EXPECT_EQ(cells[3].at("nodes"), 2);
  EXPECT_EQ(cells[3].at("measured"), false);
  EXPECT_GT(cells[3].at("seconds_high").as_double(), cells[3].at("seconds").as_double());
  EXPECT_EQ(cells[4].at("known"), false);
  EXPECT_EQ(plan.at("chosen"), 3);
}

TEST_F(PlanVerbTest, plan_asks_the_daemon_for_speeds_and_gpus) {
  daemon->answers["GET /v1/speeds"] = kSpeeds;
  daemon->answers["GET /v1/nodes"] =
      R"({"nodes":[{"name":"a","devices":[{"type":"A100-80G"},{"type":"A100-80G"}]}]})";
  EXPECT_EQ(call({"plan", "-m", "bert", "-p", "1.3B", "-b", "128"}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("A100-80G"));
  EXPECT_EQ(call({"plan", "-m", "gpt", "-p", "1.3B", "-b", "128"}), 1);
  EXPECT_THAT(screen.err_text, HasSubstr("known are bert"));
}

TEST_F(PlanVerbTest, a_file_of_speeds_is_imported_as_such) {
  daemon->answers["POST /v1/speeds"] = R"({"imported":3})";
  EXPECT_EQ(call({"profile", "import", file("speeds.json", kSpeeds)}), 0);
  EXPECT_EQ(body(), boost::json::parse(kSpeeds));
  EXPECT_THAT(screen.out_text, HasSubstr("Imported 3 speeds."));
  EXPECT_EQ(call({"profile", "import", file("bad.csv", "model,x\n")}), 2);
  EXPECT_THAT(screen.err_text, HasSubstr("bad.csv:1: the header"));
}

TEST_F(PlanVerbTest, check_tells_the_errors_of_estimates) {
  EXPECT_EQ(call({"profile", "check", file("speeds.json", kSpeeds), "--json"}), 0);
  const auto checked = boost::json::parse(screen.out_text);
  EXPECT_EQ(checked.at("all").at("cells"), 2);
  EXPECT_EQ(checked.at("all").at("unfit"), 1);
}

Result<ProfileRun> run_of(const std::vector<std::string>& words) {
  const auto arguments = parse_arguments(kProfileVerb, words);
  if (!arguments) return arguments.error();
  return profile_run_of(*arguments);
}

TEST(ProfileRun, letters_become_a_cell_a_file_and_variables) {
  const auto run =
      run_of({"run",  "-x", "1_1080ti", "-n", "1",  "-d", "2", "-m", "wide_resnet", "-p",
              "500M", "-b", "32",       "-l", "16", "-c", "2", "-o", "--",          "true"});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->cell.shape, (DeviceShape{"1080ti", 1, 2}));
  EXPECT_EQ(run->cell.run, (ModelRun{"wide_resnet", 500'000'000, 32}));
  EXPECT_EQ(run->log_path(),
            "profile_result/1_nodes_2_devices_per_node/1_1080ti/wide_resnet_none/"
            "bs_32_params_500M_layers_16_mb_2_dp_try_0.log");
  EXPECT_THAT(run->variables(), Contains("TUTTI_PROFILE_BATCH=32"));
  EXPECT_THAT(run->variables(), Contains("TUTTI_PROFILE_PLAN=dp"));
}

TEST(ProfileRun, what_is_wrong_is_refused) {
  const std::vector<std::string> fine = {"run", "-x", "1_A100", "-m", "bert",
                                         "-p",  "1B", "-b",     "2"};
  EXPECT_TRUE(run_of(fine));
  for (const std::vector<std::string>& more : {std::vector<std::string>{"-x", "A100"},
                                               {"-d", "0"},
                                               {"-s", "../x"},
                                               {"-o", "-f"},
                                               {"-i", "a/b"},
                                               {"-p", "huge"}}) {
    std::vector<std::string> words = fine;
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_FALSE(run_of(words)) << more[0] << " " << more[1];
  }
  EXPECT_FALSE(run_of({"run", "-m", "bert", "-p", "1B", "-b", "2"}));
}

}  // namespace
}  // namespace tutti
