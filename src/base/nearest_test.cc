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
