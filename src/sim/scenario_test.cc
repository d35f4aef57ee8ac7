#include "sim/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "sim/scenario_run.h"

namespace tutti {
namespace {

using testing::HasSubstr;

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(TUTTI_SCENARIO_DIR)) {
    if (entry.path().extension() == ".scenario") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string test_name(const testing::TestParamInfo<std::string>& file) {
  return std::filesystem::path(file.param).stem().string();
}

class ScenarioFile : public testing::TestWithParam<std::string> {};

TEST_P(ScenarioFile, comes_true) {
  const auto broken = run_scenario_file(GetParam());
  ASSERT_TRUE(broken) << broken.error().message;
  EXPECT_THAT(*broken, testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(tests, ScenarioFile, testing::ValuesIn(scenario_files()), test_name);

std::string error_of(const std::string& text) {
  const auto scenario = parse_scenario("x.scenario", text);
  if (!scenario) return scenario.error().message;
  const auto broken = run_scenario(*scenario);
  return broken ? "" : broken.error().message;
}

std::string broken_in(const std::string& text) {
  const auto scenario = parse_scenario("x.scenario", "node a cpus=2\n" + text);
  if (!scenario) return scenario.error().message;
  const auto broken = run_scenario(*scenario);
  if (!broken) return broken.error().message;
  return broken->empty() ? "" : broken->front();
}

TEST(scenario, an_error_names_file_and_line) {
  EXPECT_THAT(error_of("node a cpus=1\n\nat 0s sumbit x"),
              HasSubstr("x.scenario:3: unknown command 'sumbit', did you mean 'submit'?"));
  EXPECT_THAT(error_of("hello"), HasSubstr("x.scenario:1: 'hello'"));
  EXPECT_THAT(error_of("at soon submit x"), HasSubstr("x.scenario:1: "));
  EXPECT_THAT(error_of("node a cpus=1\nat 0s submit x speed=9"), HasSubstr("x.scenario:2: submit"));
  EXPECT_THAT(error_of("node a size=1"), HasSubstr("x.scenario:1: node does not know 'size'"));
  EXPECT_THAT(error_of("expect x succeded"), HasSubstr("did you mean 'succeeded'?"));
  EXPECT_THAT(error_of("expect x starts sometime 3s"), HasSubstr("at, before or after"));
  EXPECT_THAT(error_of("node a cpus=1\nat 1s cancel x"),
              HasSubstr("x.scenario:2: there is no job"));
}

TEST(scenario, what_does_not_come_true_is_told) {
  const std::string job = "at 0s submit x runs=10s\n";
  EXPECT_THAT(broken_in(job + "expect x starts at 5s"), HasSubstr("x.scenario:3: "));
  EXPECT_THAT(broken_in(job + "expect x ends before 10s"), HasSubstr("it was at 10s"));
  EXPECT_THAT(broken_in(job + "expect x failed"), HasSubstr("is succeeded"));
  EXPECT_THAT(broken_in(job + "expect all failed"), HasSubstr("is succeeded"));
  EXPECT_THAT(broken_in(job + "expect x refused"), HasSubstr("it was taken"));
  EXPECT_THAT(broken_in(job + "expect x attempts 2"), HasSubstr("there were 1"));
  EXPECT_THAT(broken_in(job + "expect x starts never"), HasSubstr("it does"));
  EXPECT_THAT(broken_in(job + "expect y starts at 0s"), HasSubstr("it never did"));
  EXPECT_THAT(broken_in(job + "expect running at 5s = 0"), HasSubstr("but 1 ran"));
  EXPECT_THAT(broken_in(job + "expect reason of x at 5s is cpus"), HasSubstr("it is none"));
  EXPECT_THAT(broken_in(job + "at 1s submit y\nexpect order y x"), HasSubstr("started earlier"));
  EXPECT_THAT(broken_in("at 0s submit x cpus=3"), HasSubstr("was refused"));
  EXPECT_EQ(broken_in(job + "expect x starts at 0s"), "");
}

}  // namespace
}  // namespace tutti
