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
using ::testing::Not;

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
              HasSubstr("Taken: 4 × a100 in ≈ 2 stages: 3s an iteration (measured), the shortest "
                        "of 5 that fit. 2 × a100 in ≈ 1 stage would cost 8% less and take 1.8 "
                        "times as long."));
}

TEST_F(PlanVerbTest, plan_as_json_has_every_cell) {
  const std::string path = file("speeds.json", kSpeeds);
  EXPECT_EQ(call({"plan", "-m", "bert", "-p", "1.3B", "-b", "128", "--file", path, "--gpus",
                  "2x4xa100,1xH100", "--json"}),
            0);
  const auto plan = boost::json::parse(screen.out_text);
  const auto& cells = plan.at("cells").as_array();
  ASSERT_EQ(cells.size(), 11u);  // a100: 1, 2, 4 of a node, two nodes, with all stages; H100
  EXPECT_EQ(cells[0].at("stages_basis"), "known");
  EXPECT_EQ(cells[4].at("stages"), 2);
  EXPECT_EQ(cells[4].at("stages_basis"), "best_plan");
  EXPECT_EQ(cells[4].at("seconds"), 3);
  EXPECT_EQ(cells[4].at("measured"), true);
  EXPECT_EQ(cells[7].at("nodes"), 2);
  EXPECT_EQ(cells[7].at("measured"), false);
  EXPECT_EQ(cells[6].at("stages_basis"), "model");
  EXPECT_FALSE(cells[6].as_object().contains("seconds_high"));
  EXPECT_GT(cells[7].at("seconds_high").as_double(), cells[7].at("seconds").as_double());
  EXPECT_EQ(cells[10].at("known"), false);
  EXPECT_TRUE(cells[10].at("stages").is_null());
  EXPECT_EQ(plan.at("chosen"), 7);
}

TEST_F(PlanVerbTest, measured_stages_are_shown_as_such) {
  const std::string path =
      file("speeds.json",
           R"({"optimal":{"bert_1.3B_128":{"1_a100_1_n_4_d_1_s":3,"1_a100_1_n_4_d_4_s":4}}})");
  EXPECT_EQ(call({"plan", "-m", "bert", "-p", "1.3B", "-b", "128", "--file", path}), 0);
  EXPECT_THAT(screen.out_text,
              HasSubstr("Taken: 4 × a100 in 1 stage: 3s an iteration (measured), the shortest of 3 "
                        "that fit. No other costs less."));
}

TEST_F(PlanVerbTest, plan_says_whether_nothing_fits_or_nothing_is_known) {
  const std::string path = file("speeds.json", kSpeeds);
  const auto plan_on = [&](const char* gpus) {
    screen.out_text.clear();
    EXPECT_EQ(
        call({"plan", "-m", "bert", "-p", "1.3B", "-b", "128", "--file", path, "--gpus", gpus}), 0);
    EXPECT_THAT(screen.out_text, Not(HasSubstr("Taken:")));
    return screen.out_text;
  };
  EXPECT_THAT(plan_on("1xa100-16G"), HasSubstr("\nNone of them fits: it takes more GPUs, or"));
  EXPECT_THAT(plan_on("1xH100"), HasSubstr("\nNothing like it was measured: the first"));
  EXPECT_THAT(plan_on("1xa100-16G,1xH100"), HasSubstr("\nNone that is known fits; of the others"));
}

TEST_F(PlanVerbTest, what_costs_as_good_as_nothing_less_is_not_mentioned) {
  const std::string path = file(
      "speeds.json", R"({"optimal":{"bert_1.3B_128":{"1_a_1_n_1_d":4,"1_a_1_n_2_d_2_s":2.009}}})");
  EXPECT_EQ(call({"plan", "-m", "bert", "-p", "1.3B", "-b", "128", "--file", path}), 0);
  EXPECT_THAT(screen.out_text, HasSubstr("the shortest of 3 that fit.\n"));
}

TEST_F(PlanVerbTest, memory_has_a_unit_that_is_near_it) {
  const std::string path = file(
      "speeds.json", R"({"optimal":{"a_200K_8":{"1_a_1_n_1_d":4},"a_70T_8":{"1_a_1_n_1_d":4}}})");
  const auto plan_of = [&](const char* size) {
    EXPECT_EQ(call({"plan", "-m", "a", "-p", size, "-b", "8", "--file", path}), 0);
    return screen.out_text;
  };
  EXPECT_THAT(plan_of("200K"), HasSubstr("  3M  fits"));
  EXPECT_THAT(plan_of("70T"), HasSubstr("  1018.6T  fits"));
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

TEST_F(PlanVerbTest, check_tells_no_errors_where_nothing_can_be_compared) {
  const std::string path =
      file("speeds.json", R"({"optimal":{"bert_1.3B_128":{"1_a100_1_n_4_d":3}}})");
  EXPECT_EQ(call({"profile", "check", path}), 0);
  EXPECT_THAT(screen.out_text, Not(HasSubstr("%")));
  EXPECT_THAT(screen.out_text, Not(HasSubstr("0 of 0")));
  screen.out_text.clear();
  EXPECT_EQ(call({"profile", "check", path, "--json"}), 0);
  const auto checked = boost::json::parse(screen.out_text);
  EXPECT_EQ(checked.at("all").at("cells"), 0);
  EXPECT_TRUE(checked.at("all").at("median_error").is_null());
  EXPECT_TRUE(checked.at("all").at("memory_accuracy").is_null());
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
  EXPECT_EQ(run->kind(), "profile:wide_resnet_500M_32_1_1080ti_1_n_2_d_layers_16_mb_2_dp");
  EXPECT_THAT(run->variables(), Contains("TUTTI_PROFILE_BATCH=32"));
  EXPECT_THAT(run->variables(), Contains("TUTTI_PROFILE_PLAN=dp"));
}

TEST(ProfileRun, stages_are_part_of_the_cell_the_file_and_the_variables) {
  const std::vector<std::string> words = {"run",  "-x", "1_A100", "-d", "4", "-m",
                                          "bert", "-p", "1B",     "-b", "2", "-f"};
  EXPECT_EQ(run_of(words)->cell.stages, 0u);
  std::vector<std::string> staged = words;
  staged.insert(staged.end(), {"--stages", "2"});
  const auto run = run_of(staged);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->cell.stages, 2u);
  EXPECT_THAT(run->log_path(), HasSubstr("/bs_2_params_1B_stages_2_pp_try_0.log"));
  EXPECT_THAT(run->variables(), Contains("TUTTI_PROFILE_STAGES=2"));
  staged.back() = "5";
  EXPECT_EQ(run_of(staged).error().message,
            "--stages must be a whole number from 1 to 4, the GPUs of the run");
}

TEST(ProfileRun, data_parallel_plans_have_one_stage) {
  const std::vector<std::string> words = {"run",  "-x", "1_A100", "-d", "4", "-m",
                                          "bert", "-p", "1B",     "-b", "2", "-o"};
  EXPECT_EQ(run_of(words)->cell.stages, 1u);
  EXPECT_THAT(run_of(words)->variables(), Contains("TUTTI_PROFILE_STAGES=1"));
  std::vector<std::string> staged = words;
  staged.insert(staged.end(), {"--stages", "2"});
  EXPECT_THAT(run_of(staged).error().message, HasSubstr("in one stage"));
}

TEST(ProfileRun, what_is_wrong_is_refused) {
  const std::vector<std::string> fine = {"run", "-x", "1_A100", "-m", "bert",
                                         "-p",  "1B", "-b",     "2"};
  EXPECT_TRUE(run_of(fine));
  for (const std::vector<std::string>& more : {std::vector<std::string>{"-x", "A100"},
                                               {"-d", "0"},
                                               {"-s", "../x"},
                                               {"-o", "-f"},
                                               {"-i", "-1"},
                                               {"-i", "a/b"},
                                               {"-l", "-1"},
                                               {"-l", "0"},
                                               {"-c", "x"},
                                               {"-e", "foo"},
                                               {"-p", "huge"}}) {
    std::vector<std::string> words = fine;
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_FALSE(run_of(words)) << more[0] << " " << more[1];
  }
  EXPECT_FALSE(run_of({"run", "-m", "bert", "-p", "1B", "-b", "2"}));
}

TEST(ProfileRun, numbers_are_refused_with_what_they_may_be) {
  const auto error_of = [](const char* letter, const char* number) {
    return run_of({"run", "-x", "1_A100", "-m", "bert", "-p", "1B", "-b", "2", letter, number})
        .error()
        .message;
  };
  EXPECT_EQ(error_of("-l", "0"), "--layers must be a whole number from 1 to 1000000000, not '0'");
  EXPECT_EQ(error_of("-i", "-1"), "--try must be a whole number from 0 to 1000000000, not '-1'");
}

}  // namespace
}  // namespace tutti
