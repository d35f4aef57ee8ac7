#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace tutti {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"submit", "status", "cancel", "wait"};

TEST(nearest, the_word_with_the_fewest_edits_is_meant) {
  EXPECT_EQ(nearest("sumbit", kWords), "submit");
  EXPECT_EQ(nearest("cancle", kWords), "cancel");
  EXPECT_EQ(nearest("wai", kWords), "wait");
}

TEST(nearest, a_word_that_is_far_from_all_means_none) {
  EXPECT_EQ(nearest("frobnicate", kWords), "");
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest(std::string(1000, 'a'), kWords), "");
}

TEST(nearest, a_word_that_begins_like_a_longer_one_or_goes_on_is_meant) {
  constexpr std::array<std::string_view, 6> kFields = {"mem",          "env",  "time",
                                                       "max_parallel", "name", "gpu_mem"};
  EXPECT_EQ(nearest("memory", kFields), "mem");
  EXPECT_EQ(nearest("environment", kFields), "env");
  EXPECT_EQ(nearest("timeout", kFields), "time");
  EXPECT_EQ(nearest("max", kFields), "max_parallel");
  EXPECT_EQ(nearest("gpu_memory", kFields), "gpu_mem");
}

TEST(nearest, options_are_looked_at_without_their_dashes) {
  constexpr std::array<std::string_view, 4> kOptions = {"--mem", "--after", "--gpu-mem",
                                                        "--workdir"};
  EXPECT_EQ(nearest("--memory", kOptions), "--mem");
  EXPECT_EQ(nearest("--gpu_memory", kOptions), "--gpu-mem");
  EXPECT_EQ(nearest("--frobnicate", kOptions), "");
}

TEST(nearest, what_others_call_it_is_known) {
  constexpr std::array<std::string_view, 4> kFields = {"after", "workdir", "time", "cpus"};
  EXPECT_EQ(nearest("depends", kFields), "after");
  EXPECT_EQ(nearest("working_dir", kFields), "workdir");
  constexpr std::array<std::string_view, 2> kOptions = {"--after", "--workdir"};
  EXPECT_EQ(nearest("--dependency", kOptions), "--after");
  EXPECT_EQ(nearest("--cwd", kOptions), "--workdir");
  EXPECT_EQ(nearest("--cwd", kWords), "");
}

TEST(nearest, ties_go_to_the_first) {
  constexpr std::array<std::string_view, 2> kTwins = {"cat", "car"};
  EXPECT_EQ(nearest("cap", kTwins), "cat");
}

TEST(nearest, the_tail_of_an_error_is_empty_when_nothing_is_near) {
  EXPECT_EQ(did_you_mean("statsu", kWords), ", did you mean 'status'?");
  EXPECT_EQ(did_you_mean("xyz", kWords), "");
}

}  // namespace
}  // namespace tutti
